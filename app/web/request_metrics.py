"""Counts of the requests and refusals of one API process."""

from prometheus_client import CollectorRegistry, Counter, Histogram

from app.errors import AppError

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
        for code in _codes(AppError):
            self._refusals.labels(code)  # a rule sees the first refusal only if there was a zero before it

    def note_request(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def note_refusal(self, code: str) -> None:
        self._refusals.labels(code).inc()


def _codes(kind: type[AppError]) -> set[str]:
    return {kind.code}.union(*(_codes(child) for child in kind.__subclasses__()))
