"""Counters in Postgres: the workers add to them, and the API shows them."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate

from prometheus_client.core import HistogramMetricFamily
from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Session

from app.store.tables import StoredCounter
from lens_engine.types import Phase

ATTEMPTS = "attempts"
PHASE_SECONDS = "phase_seconds"
PHASE_PAIRS = "phase_pairs"
DEVICE_SECONDS = "device_seconds"

OUTCOMES = ("ended", "released", "unfit", "lost", "error", "stalled", "died", "timeout")
ABOUT_ATTEMPTS = (
    "Attempts by `outcome`: ended (with a last write), released (by a shutdown), unfit (fault of its worker), lost "
    "(another attempt took over), error (another one), stalled (no progress), died (its process), timeout (killed)."
)
PHASES = tuple(phase.value for phase in Phase)


@dataclass(frozen=True, slots=True, order=True)
class CounterKey:
    """Name and label of a counter."""

    name: str
    label: str


def add_to_counters(session: Session, amounts: Mapping[CounterKey, float]) -> None:
    """Add amounts. Rows are locked in order, so that two workers cannot wait for each other."""
    rows = [{"name": key.name, "label": key.label, "value": amounts[key]} for key in sorted(amounts)]
    if not rows:
        return
    statement = upsert(StoredCounter).values(rows)
    total = StoredCounter.value + statement.excluded.value
    session.execute(statement.on_conflict_do_update(index_elements=["name", "label"], set_={"value": total}))


def read_counters(session: Session) -> dict[CounterKey, float]:
    rows = session.execute(select(StoredCounter.name, StoredCounter.label, StoredCounter.value))
    return {CounterKey(name, label): value for name, label, value in rows}


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
