"""Numbers of one API process: how close it is to its limits, and what its sweeps did."""

import asyncio
import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from app.lifecycle.sweep import SweepReport
from app.selections.admission import Admission
from app.services import Services

_LOOK_SECONDS = 0.5
_BUCKETS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_LONG_BUCKETS = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


class ProcessMetrics:
    """Connections, submissions, the place of large work, ends of the reader, and how late the loop is."""

    def __init__(self, registry: CollectorRegistry, services: Services, admission: Admission) -> None:
        pool = services.database.engine.pool
        in_use = Gauge("lens_database_connections", "Connections to Postgres that requests hold.", registry=registry)
        in_use.set_function(lambda: float(pool.checkedout()))  # type: ignore[attr-defined]
        most = Gauge("lens_database_connections_max", "Most of them: LENS_DATABASE_POOL_SIZE.", registry=registry)
        most.set(services.settings.database_pool_size)
        admitted = Gauge(
            "lens_submissions_admitted", "Submissions that are read, wait or are stored.", registry=registry
        )
        admitted.set_function(lambda: float(admission.num_admitted))
        waiting = Gauge(
            "lens_large_place_waiting", "Large submissions and reports that wait for their place.", registry=registry
        )
        waiting.set_function(lambda: float(admission.num_waiting))
        admission.note_wait = Histogram(
            "lens_large_place_wait_seconds",
            "How long a large submission or a report waited for its place (seconds).",
            buckets=_LONG_BUCKETS,
            registry=registry,
        ).observe
        self.reader_ends = Counter(
            "lens_reader_ends", "How often the reader of large submissions ended by itself.", registry=registry
        )
        self._lag = Histogram(
            "lens_event_loop_lag_seconds", "How late the event loop is (seconds).", buckets=_BUCKETS, registry=registry
        )

    async def measure_lag(self) -> None:
        """Observe every half second how much later than asked the loop comes back. Runs until it is cancelled."""
        while True:
            asked = time.monotonic()
            await asyncio.sleep(_LOOK_SECONDS)
            self._lag.observe(max(0.0, time.monotonic() - asked - _LOOK_SECONDS))


SWEEP_OUTCOMES = ("rescued", "failed", "cancelled", "enqueued")


class SweepMetrics:
    """What the sweeps of this process did."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._sweeps = Counter(
            "lens_sweeps", "Sweeps by `result`; skipped: another process swept.", ["result"], registry=registry
        )
        self._jobs = Counter("lens_sweep_jobs", "Jobs by `outcome` of a sweep.", ["outcome"], registry=registry)
        self._last = Gauge(
            "lens_last_sweep_timestamp_seconds",
            "When this process last swept, or found another process sweeping (Unix time).",
            registry=registry,
        )
        for result in ("done", "skipped", "failed"):
            self._sweeps.labels(result)
        for outcome in SWEEP_OUTCOMES:
            self._jobs.labels(outcome)

    def note_sweep(self, report: SweepReport) -> None:
        self._sweeps.labels("skipped" if report.skipped else "done").inc()
        self._last.set_to_current_time()
        for outcome in SWEEP_OUTCOMES:
            self._jobs.labels(outcome).inc(getattr(report, outcome))

    def note_failure(self) -> None:
        self._sweeps.labels("failed").inc()
