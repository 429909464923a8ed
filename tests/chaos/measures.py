"""How long things took, from what Postgres recorded."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg

Connection = psycopg.Connection[tuple[Any, ...]]

_NEXT = """
SELECT EXTRACT(EPOCH FROM min(at) FILTER (WHERE data->>'to' = 'queued') - %(at)s::timestamptz),
       EXTRACT(EPOCH FROM min(at) FILTER (WHERE data->>'to' = 'running') - %(at)s::timestamptz)
FROM events WHERE selection_id = %(id)s AND type = 'status' AND at > %(at)s::timestamptz
"""
_CANCELS = """
SELECT EXTRACT(EPOCH FROM cancelled_at - cancel_requested_at) FROM selections
WHERE cancelled_at IS NOT NULL AND cancel_requested_at IS NOT NULL AND started_at IS NOT NULL
"""
_STATUSES = "SELECT status, count(*) FROM selections GROUP BY status ORDER BY status"
_ATTEMPTS = "SELECT attempt, count(*) FROM selections GROUP BY attempt ORDER BY attempt"


@dataclass(frozen=True, slots=True)
class Spread:
    """Durations (seconds). None without any."""

    count: int
    p50: float | None
    longest: float | None

    @classmethod
    def of(cls, seconds: Sequence[float]) -> "Spread":
        if not seconds:
            return cls(0, None, None)
        return cls(len(seconds), round(statistics.median(seconds), 2), round(max(seconds), 2))


@dataclass(frozen=True, slots=True)
class Recovery:
    """How long selections waited whose worker was disturbed."""

    until_queued: Spread
    until_running: Spread


def measure_recovery(connection: Connection, victims: Sequence[tuple[str, datetime]]) -> Recovery:
    """From each fault on a worker until its selection was queued, and ran, again. Others survived the fault."""
    queued: list[float] = []
    running: list[float] = []
    for id_, at in victims:
        [[until_queued, until_running]] = connection.execute(_NEXT, {"id": id_, "at": at}).fetchall()
        if until_queued is not None and until_running is not None:
            queued.append(float(until_queued))
            running.append(float(until_running))
    return Recovery(Spread.of(queued), Spread.of(running))


def measure_cancels(connection: Connection) -> Spread:
    """From the request to the end, of selections that had begun."""
    return Spread.of([float(seconds) for (seconds,) in connection.execute(_CANCELS)])


def count_statuses(connection: Connection) -> dict[str, int]:
    return {str(status): int(number) for status, number in connection.execute(_STATUSES)}


def count_attempts(connection: Connection) -> dict[int, int]:
    return {int(attempt): int(number) for attempt, number in connection.execute(_ATTEMPTS)}
