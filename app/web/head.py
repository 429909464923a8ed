"""HEAD as GET without the body (RFC 9110, 9.3.2), for every path that takes GET. Routes know GET alone."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class _HeadSent(BaseException):
    """Ends the making of a body that is sent in pieces: a stream may go on for minutes."""


class HeadMiddleware:
    """Stands inside of the access log, which tells HEAD from GET."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            if message["type"] != "http.response.body":
                await send(message)
                return
            await send({"type": "http.response.body"})
            if message.get("more_body"):
                raise _HeadSent

        scope["method"] = "GET"
        try:
            await self._app(scope, receive, send_head)
        except _HeadSent:
            pass
        finally:
            scope["method"] = "HEAD"
