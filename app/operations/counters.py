"""Counters in Postgres: the workers add to them, and the API shows them."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Session

from app.store.tables import StoredCounter

ATTEMPTS = "attempts"
DEVICE_SECONDS = "device_seconds"

OUTCOMES = ("ended", "released", "unfit", "lost", "error", "stalled", "died", "timeout")
ABOUT_ATTEMPTS = (
    "Attempts by `outcome`: ended (with a last write), released (by a shutdown), unfit (fault of its worker), lost "
    "(another attempt took over), error (another one), stalled (no progress), died (its process), timeout (killed)."
)


@dataclass(frozen=True, slots=True, order=True)
class CounterKey:
    """Name and label of a counter."""

    name: str
    label: str


def count_attempt(session: Session, outcome: str, owner_id: str, seconds: float) -> None:
    """Count an attempt that took so long."""
    add_to_counters(session, {CounterKey(ATTEMPTS, outcome): 1.0, CounterKey(DEVICE_SECONDS, owner_id): seconds})


def add_to_counters(session: Session, amounts: Mapping[CounterKey, float]) -> None:
    """Add amounts. Rows are locked in order, so that two workers cannot wait for each other."""
    rows = [{"name": key.name, "label": key.label, "value": amounts[key]} for key in sorted(amounts)]
    statement = upsert(StoredCounter).values(rows)
    total = StoredCounter.value + statement.excluded.value
    session.execute(statement.on_conflict_do_update(index_elements=["name", "label"], set_={"value": total}))


def read_counters(session: Session) -> dict[CounterKey, float]:
    rows = session.execute(select(StoredCounter.name, StoredCounter.label, StoredCounter.value))
    return {CounterKey(name, label): value for name, label, value in rows}
