"""Counts of the sweeps of one API process."""

from prometheus_client import CollectorRegistry, Counter, Gauge

from app.lifecycle.sweep import SweepReport

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
