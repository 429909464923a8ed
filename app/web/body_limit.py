"""Refuses a request body that is too large, by its declared length or while it is read.

FastAPI's `max_body_size` is not used because it answers a declared length in plain text.
"""

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import ContentTooLarge
from app.settings import Settings
from app.web.error_handlers import problem_response


class BodyLimitMiddleware:
    """Answers 413 for a body above the limit of its route."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._limit(scope)
        declared = Headers(scope=scope).get("Content-Length", "")
        if declared.isdecimal() and int(declared[:20]) > limit:
            await problem_response(scope, _too_large(limit), self._settings)(scope, receive, send)
            return
        await self._app(scope, _counting(receive, limit), send)

    def _limit(self, scope: Scope) -> int:
        is_upload = scope["method"] == "POST" and scope["path"].rstrip("/") == "/selections"
        return self._settings.max_upload_bytes if is_upload else self._settings.max_body_bytes


def _counting(receive: Receive, limit: int) -> Receive:
    received = 0

    async def receive_within_limit() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            error = _too_large(limit)
            # FastAPI turns any other exception raised while it reads a body into a 400.
            raise HTTPException(error.status, error.detail, error.headers)
        return message

    return receive_within_limit


def _too_large(limit: int) -> ContentTooLarge:
    return ContentTooLarge(f"the request body has more than {limit} bytes", headers={"Connection": "close"})
