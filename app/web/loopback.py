"""A service that asks for no key answers this machine only.

The address it listens on does not suffice. A web page may send forms to any address that its visitor's browser reaches,
and a page whose name is pointed at 127.0.0.1 later (DNS rebinding) may read the answers. So the address, the header
Host and what a browser says of the page are all looked at, however the server was started.
"""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from app.errors import NotLocal
from app.setting_types import is_loopback
from app.settings import Settings
from app.web.error_handlers import problem_response

_NAME = "localhost"
ADVICE = "set LENS_REQUIRE_KEYS=true, and make a key with `lens keys create`"


class LoopbackMiddleware:
    """Answers 403 to requests that do not come from this machine, unless the settings ask for a key."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        fault = None if self._settings.require_keys or scope["type"] != "http" else _fault(scope)
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
