"""What a request must be before a route sees it: from this machine, and not too large.

A service that asks for no key answers this machine only. The address it listens on does not suffice. A web page may
send forms to any address that its visitor's browser reaches, and a page whose name is pointed at 127.0.0.1 later (DNS
rebinding) may read the answers. So the address, the header Host and what a browser says of the page are all looked at,
however the server was started.
"""

import re

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import ContentTooLarge, NotLocal
from app.model_settings import is_loopback
from app.settings import Settings
from app.web.access_log import HttpMiddleware
from app.web.error_handlers import problem_response
from app.web.parameters import read_number, served_path
from app.web.request_body import JSON, media_type_of

_NAME = "localhost"
ADVICE = "set LENS_REQUIRE_KEYS=true, and make a key with `lens keys create`"


class LoopbackMiddleware(HttpMiddleware):
    """Answers 403 to requests that do not come from this machine, unless the settings ask for a key."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        super().__init__(app)
        self._settings = settings

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        fault = None if self._settings.require_keys else _fault(scope)
        if fault is None:
            await self._app(scope, receive, send)
            return
        refusal = NotLocal(f"this service asks for no API key and answers this machine only: {fault}")
        await problem_response(scope, refusal)(scope, receive, send)


def _fault(scope: Scope) -> str | None:
    headers = Headers(scope=scope)
    host, origin = headers.get("Host", ""), headers.get("Origin")
    address, port = scope.get("server") or (_NAME, None)
    if port is not None and not is_loopback(address):
        return f"it listens on another address; {ADVICE}"
    if not is_loopback(_without_port(host)):
        return "the header Host must be localhost, 127.0.0.1 or [::1]"
    if headers.get("Sec-Fetch-Site", "").lower() == "cross-site":
        return "the request comes from a page of another site (Sec-Fetch-Site)"
    if origin is not None and origin.lower() != f"{scope.get('scheme', 'http')}://{host}".lower():
        return "the request comes from a page of another origin (Origin)"
    return None


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() and not name.endswith(":") else host


class BodyLimitMiddleware(HttpMiddleware):
    """Answers 413 for a body above the limit of its route, by its declared length or while it is read.

    FastAPI's `max_body_size` is not used because it answers a declared length in plain text.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        super().__init__(app)
        self._settings = settings

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, received = Headers(scope=scope), 0
        most, advice = self._limit(scope, headers)
        refusal = ContentTooLarge(
            f"the request body has more than {most} bytes{advice}", headers={"Connection": "close"}
        )

        async def receive_within_limit() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > most:
                # FastAPI turns any other exception raised while it reads a body into a 400.
                raise HTTPException(refusal.status, refusal.detail, refusal.headers)
            return message

        if (read_number(headers.get("Content-Length", "")[:20], 20) or 0) > most:
            await problem_response(scope, refusal)(scope, receive, send)
        else:
            await self._app(scope, receive_within_limit, send)

    def _limit(self, scope: Scope, headers: Headers) -> tuple[int, str]:
        """Largest size of a body (bytes), and how a client can send more."""
        if scope["method"] != "POST" or not _UPLOADS.fullmatch(served_path(scope).rstrip("/")):
            return self._settings.max_body_bytes, ""
        upload, whole = self._settings.max_upload_bytes, self._settings.max_json_bytes
        if media_type_of(headers) == JSON and whole < upload:
            return whole, f"; send a larger dataset as a file, in a form (multipart/form-data) of up to {upload} bytes"
        return upload, ""


_UPLOADS = re.compile(
    r"/selections|/label-suggestions|(/pages)?/datasets|/(selections|prompts)/[^/]+/(classify|texts|table)"
)
"""Paths that take files."""
