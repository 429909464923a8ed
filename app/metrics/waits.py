"""How long jobs waited for a worker, as counters in Postgres that add up to a histogram."""

from collections.abc import Mapping
from itertools import accumulate

from prometheus_client.core import HistogramMetricFamily

from app.metrics.counters import CounterKey

_BUCKETS = ("1.0", "5.0", "15.0", "60.0", "300.0", "900.0", "3600.0", "14400.0", "86400.0", "+Inf")
_SECONDS, _WAITS = "wait_seconds", "waits"


def count_wait(seconds: float) -> dict[CounterKey, float]:
    """What a claim adds to the counters.

    Args:
        seconds: from when the job could start to its claim.
    """
    bucket = next(bound for bound in _BUCKETS if seconds <= float(bound))
    return {CounterKey(_SECONDS, ""): seconds, CounterKey(_WAITS, bucket): 1.0}


def show_waits(found: Mapping[CounterKey, float]) -> HistogramMetricFamily:
    """The histogram of all claims."""
    numbers = accumulate(found.get(CounterKey(_WAITS, bound), 0.0) for bound in _BUCKETS)
    return HistogramMetricFamily(
        "lens_wait_seconds",
        "Time that jobs waited for a worker when one claimed them.",
        buckets=list(zip(_BUCKETS, numbers, strict=True)),
        sum_value=found.get(CounterKey(_SECONDS, ""), 0.0),
    )
