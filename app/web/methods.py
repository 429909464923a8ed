"""HEAD for every GET, and an `Allow` that lists every method of a path. Starlette does neither for FastAPI's routes."""

from collections.abc import Sequence

from starlette.datastructures import MutableHeaders
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class MethodsMiddleware:
    """Answers HEAD as GET without the body, and completes `Allow` of answers 405."""

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute]) -> None:
        self._app = app
        self._routes = [route for route in routes if isinstance(route, Route)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_head = scope["method"] == "HEAD"

        async def send_adapted(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 405:
                MutableHeaders(scope=message)["Allow"] = ", ".join(self._methods(scope))
            if message["type"] == "http.response.body" and is_head:
                message = {**message, "body": b""}
            await send(message)

        # A copy: the server looks at the method of its own scope to know that no body follows.
        await self._app({**scope, "method": "GET"} if is_head else scope, receive, send_adapted)

    def _methods(self, scope: Scope) -> list[str]:
        found = {
            method
            for route in self._routes
            if route.matches(scope)[0] is not Match.NONE
            for method in route.methods or ()
        }
        return sorted(found | ({"HEAD"} if "GET" in found else set()))
