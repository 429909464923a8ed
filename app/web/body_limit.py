"""Refuses a request body that is too large, by its declared length or while it is read.

FastAPI's `max_body_size` is not used because it answers a declared length in plain text.
"""

import re
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import ContentTooLarge
from app.settings import Settings
from app.web.error_handlers import problem_response
from app.web.parameters import read_number
from app.web.paths import served_path
from app.web.request_body import JSON, media_type_of


class BodyLimitMiddleware:
    """Answers 413 for a body above the limit of its route."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        limit = self._limit(scope, headers)
        declared = headers.get("Content-Length", "")
        if (read_number(declared[:20], 20) or 0) > limit.num_bytes:
            await problem_response(scope, limit.refusal)(scope, receive, send)
            return
        await self._app(scope, _counting(receive, limit), send)

    def _limit(self, scope: Scope, headers: Headers) -> "_Limit":
        if scope["method"] != "POST" or not _UPLOADS.fullmatch(served_path(scope).rstrip("/")):
            return _Limit(self._settings.max_body_bytes)
        upload, whole = self._settings.max_upload_bytes, self._settings.max_json_bytes
        if media_type_of(headers) == JSON and whole < upload:
            return _Limit(
                whole, f"; send a larger dataset as a file, in a form (multipart/form-data) of up to {upload} bytes"
            )
        return _Limit(upload)


_UPLOADS = re.compile(r"/selections|(/pages)?/datasets|/(selections|prompts)/[^/]+/(classify|texts|table)")
"""Paths that take files."""


@dataclass(frozen=True, slots=True)
class _Limit:
    """Largest size of a body, and how a client can send more."""

    num_bytes: int
    advice: str = ""

    @property
    def refusal(self) -> ContentTooLarge:
        detail = f"the request body has more than {self.num_bytes} bytes{self.advice}"
        return ContentTooLarge(detail, headers={"Connection": "close"})


def _counting(receive: Receive, limit: _Limit) -> Receive:
    received = 0

    async def receive_within_limit() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit.num_bytes:
            error = limit.refusal
            # FastAPI turns any other exception raised while it reads a body into a 400.
            raise HTTPException(error.status, error.detail, error.headers)
        return message

    return receive_within_limit
