"""Gives every request an id and returns the id in the response. A harmless id of the client is kept.

Every response also forbids a browser to guess its media type.
"""

import re
import secrets

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.logs import context

HEADER = "X-Request-ID"
_HARMLESS = re.compile(r"[A-Za-z0-9._-]{1,64}")


class RequestIdMiddleware:
    """Sets `request.state.request_id`, the field `request_id` of the log, and the response header `X-Request-ID`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(HEADER, "")
        request_id = given if _HARMLESS.fullmatch(given) else secrets.token_hex(16)
        scope.setdefault("state", {})["request_id"] = request_id
        context.begin(request_id=request_id)

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers[HEADER], headers["X-Content-Type-Options"] = request_id, "nosniff"
            await send(message)

        await self._app(scope, receive, send_with_id)
