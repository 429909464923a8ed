"""Refuses requests while too many connections are open, so that the accepted ones stay fast.

uvicorn's own limit answers in plain text and without Retry-After.
"""

from collections.abc import Sized
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from app.errors import Unavailable
from app.web.error_handlers import problem_response

CONNECTIONS = "connections"
"""Name of the `Connections` in the state of each request (the lifespan state of ASGI). Other servers set none."""


@dataclass(frozen=True, slots=True)
class Connections:
    """The open connections of a server, and how many are served."""

    open: Sized
    most: int


class ConnectionLimitMiddleware:
    """Answers 503 to requests above the limit of the server, and closes their connections."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        connections: Connections | None = scope.get("state", {}).get(CONNECTIONS)
        if scope["type"] != "http" or connections is None or len(connections.open) <= connections.most:
            await self._app(scope, receive, send)
            return
        detail = "too many connections are open; repeat the request later"
        refusal = Unavailable(detail, headers={"Connection": "close"})
        await problem_response(scope, refusal)(scope, receive, send)
