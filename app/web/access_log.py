"""What is known of each request: an id, one log line and one count: method, template of the route, status, seconds.

The log line and the count have no path, no query and no header, which may hold a text or a key.
"""

import logging
import re
import secrets
import time

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import TITLES
from app.ids import is_id
from app.logs import begin_context

HEADER = "X-Request-ID"
_HARMLESS = re.compile(r"[A-Za-z0-9._-]{1,64}")


class HttpMiddleware:
    """Base of what stands around the routes: `answer` gets the requests, and no other event of the server."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self.answer if scope["type"] == "http" else self._app)(scope, receive, send)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        raise NotImplementedError


class RequestIdMiddleware(HttpMiddleware):
    """Sets `request.state.request_id`, the field `request_id` of the log, and the response header `X-Request-ID`.

    A harmless id of the client is kept. Every response also forbids a browser to guess its media type.
    """

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = Headers(scope=scope).get(HEADER, "")
        request_id = given if _HARMLESS.fullmatch(given) else secrets.token_hex(16)
        scope.setdefault("state", {})["request_id"] = request_id
        begin_context(request_id=request_id)

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers[HEADER], headers["X-Content-Type-Options"] = request_id, "nosniff"
            await send(message)

        await self._app(scope, receive, send_with_id)


_BUCKETS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class RequestMetrics:
    """Labels are templates of routes, methods, statuses and codes: never an id, an owner or a text."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "lens_http_requests",
            "Requests by `method`, `route` (template) and `status`. One that is refused before a route is looked for "
            "has the route `(none)`; one beyond `--max-connections` is not counted.",
            ["method", "route", "status"],
            registry=registry,
        )
        self._seconds = Histogram(
            "lens_http_request_seconds",
            "Time from the first byte of a request to the end of its answer (seconds).",
            ["method", "route"],
            buckets=_BUCKETS,
            registry=registry,
        )
        self._refusals = Counter("lens_refusals", "Refusals by `code` of the problem.", ["code"], registry=registry)
        for code in TITLES:
            self._refusals.labels(code)  # a rule sees the first refusal only if there was a zero before it

    def note_request(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def note_refusal(self, code: str) -> None:
        self._refusals.labels(code).inc()


NO_ROUTE = "(none)"
"""Route of a request that was refused before a route was looked for, or that has none."""

_COUNT = "count_refusal"
"""Key of the counting function in the state of a request: an error that nobody foresaw is answered outside of here."""
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
_log = logging.getLogger(__name__)


def note_problem(scope: Scope, code: str) -> None:
    """Have the refusal of this request counted and logged by its code."""
    scope.setdefault("state", {})["problem"] = code
    if (count := scope["state"].get(_COUNT)) is not None:
        count(code)


class AccessLogMiddleware(HttpMiddleware):
    """Stands inside of `RequestIdMiddleware`, and around everything else."""

    def __init__(self, app: ASGIApp, metrics: RequestMetrics) -> None:
        super().__init__(app)
        self._metrics = metrics

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})[_COUNT] = self._metrics.note_refusal
        started = time.monotonic()
        status = 500  # Starlette answers an unexpected error outside of this middleware

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            self._note(scope, status, time.monotonic() - started)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        route = str(getattr(scope.get("route"), "path", None) or NO_ROUTE)
        self._metrics.note_request(method, route, status, seconds)
        fields = {"method": method, "route": route, "status": status, "seconds": round(seconds, 4)}
        if is_id(job_id := str(scope.get("path_params", {}).get("selection_id", ""))):
            fields["job_id"] = job_id
        if owner := scope.get("state", {}).get("owner_id"):
            fields["owner"] = owner
        if code := scope.get("state", {}).get("problem"):
            fields["problem"] = code
        level = logging.DEBUG if route in _PROBES and status < 400 else logging.INFO
        _log.log(level, "%s %s %d", method, route, status, extra={"action": "request", **fields})
