"""The sweep: takes over selections with expired leases and enqueues queued ones without a job.

Only the sweep retries selections. The API sweeps every few seconds, and a worker sweeps once at its
start. An advisory lock admits one sweep at a time. Rows that a worker is writing are left to the next
sweep. One row that cannot be read or written keeps no other from its rescue.

After an outage or a hang of Postgres, living workers need time to renew their leases, which ran out meanwhile.
For as long as a lease, the sweep then takes nothing over.
"""

import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from redis.exceptions import RedisError
from sqlalchemy import ColumnElement, and_, delete, func, not_, or_, select, tuple_
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from app.database import Database, find_sqlstate, is_away
from app.lifecycle.rescue import describe_crash, rescue
from app.lifecycle.retention import forget_old
from app.lifecycle.states import LEASED, TERMINAL, Status
from app.models import IdempotencyKey, Selection
from app.queue import Doorbell, JobQueue
from app.settings import Settings

_LOCK_KEY = 0x6C656E73_01  # "lens", 1
_PAGE_ROWS = 200
_KEY_SECONDS = 86_400.0
"""Time for which the answer to an idempotency key is kept."""

_SILENCE_SHARE, _LEAST_SILENCE_SECONDS = 0.25, 1.0
"""Share of a lease, and least time, after which a sweep takes a Postgres that did not answer to have hung."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SweepReport:
    """Numbers of selections that one sweep changed. `skipped`: another process was sweeping."""

    rescued: int = 0
    failed: int = 0
    cancelled: int = 0
    enqueued: int = 0
    skipped: bool = False


class OutageMemory:
    """When this process last found Postgres away, or hanging."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._noted_at = -math.inf

    def note(self, error: DBAPIError) -> None:
        """Remember an error if it is an outage. A statement that the server refused or cut off is none."""
        if is_away(error):
            self._noted_at = self._clock()

    @contextmanager
    def noting_silence(self, seconds: float) -> Iterator[None]:
        """Remember a block that takes longer than `seconds` as an outage: Postgres hung, and nobody renewed a lease."""
        started = self._clock()
        try:
            yield
        finally:
            ended = self._clock()
            if ended - started > seconds:
                self._noted_at = ended

    def is_recent(self, seconds: float) -> bool:
        """Whether an outage was noted in the last `seconds`."""
        return self._clock() - self._noted_at < seconds


@dataclass(frozen=True, slots=True)
class _Rescued:
    """What became of one selection, and the attempt that lost it."""

    status: Status
    attempt: Doorbell


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A queued selection. `is_old`: it has waited for longer than a lease."""

    doorbell: Doorbell
    is_old: bool


def sweep(database: Database, queue: JobQueue, settings: Settings, outages: OutageMemory | None = None) -> SweepReport:
    """Take over expired leases, then enqueue queued selections without a live job.

    Args:
        outages: remembers from one sweep to the next whether Postgres was away; None if this process sweeps once.
    """
    outages = outages or OutageMemory()
    try:
        return _sweep(database, queue, settings, outages)
    except DBAPIError as error:
        outages.note(error)
        raise


def _sweep(database: Database, queue: JobQueue, settings: Settings, outages: OutageMemory) -> SweepReport:
    with database.session_scope() as session:
        with outages.noting_silence(max(_LEAST_SILENCE_SECONDS, _SILENCE_SHARE * settings.lease_seconds)):
            is_first = _lock(session)
        if not is_first:
            return SweepReport(skipped=True)
        has_settled = _has_run_for_a_lease(session, settings) and not outages.is_recent(settings.lease_seconds)
    rescued = _rescue_all(database, settings) if has_settled else []
    statuses = Counter(outcome.status for outcome in rescued)
    report = SweepReport(
        rescued=statuses[Status.QUEUED],
        failed=statuses[Status.FAILED],
        cancelled=statuses[Status.CANCELLED],
        enqueued=_ring(database, queue, settings, [outcome.attempt for outcome in rescued], has_settled=has_settled),
    )
    with database.session_scope() as session:
        _forget_old_keys(session)
    forget_old(database, settings)
    if report != SweepReport():
        _log.info("sweep: %s", report, extra={"action": "sweep"})
    return report


def _lock(session: Session) -> bool:
    """Keep other processes from sweeping until the transaction ends. Returns False if one does."""
    return bool(session.scalar(select(func.pg_try_advisory_xact_lock(_LOCK_KEY))))


def _has_run_for_a_lease(session: Session, settings: Settings) -> bool:
    """Whether Postgres started long enough ago for every living worker to have renewed its lease."""
    lease = timedelta(seconds=settings.lease_seconds)
    return bool(session.scalar(select(func.pg_postmaster_start_time() < func.clock_timestamp() - lease)))


def _rescue_all(database: Database, settings: Settings) -> list[_Rescued]:
    """Take over the expired leases, a page in each transaction. Stops when another process begins to sweep."""
    rescued: list[_Rescued] = []
    last = ""
    while True:
        with database.session_scope() as session:
            page = _find_dead(session, after=last) if _lock(session) else []
            rescued += [outcome for id_ in page if (outcome := _try_rescue(session, id_, settings)) is not None]
        if len(page) < _PAGE_ROWS:
            return rescued
        last = page[-1]


def _find_dead(session: Session, after: str) -> list[str]:
    """Ids of selections whose lease ran out, in order."""
    query = select(Selection.id).where(_is_dead(), Selection.id > after)
    return list(session.scalars(query.order_by(Selection.id).limit(_PAGE_ROWS)))


def _try_rescue(session: Session, selection_id: str, settings: Settings) -> _Rescued | None:
    """Rescue one selection. Returns None if its holder is alive or writing, or if the row is broken."""
    try:
        with session.begin_nested():
            return _rescue(session, selection_id, settings)
    except Exception as error:
        if isinstance(error, DBAPIError) and error.connection_invalidated:
            raise
        # The message is not logged, because Postgres repeats the row in it.
        _log.error(
            "%s cannot be rescued (%s, SQLSTATE %s); the next sweep tries again",
            selection_id,
            type(error).__name__,
            find_sqlstate(error),
            extra={"action": "rescue-failed", "selection_id": selection_id},
        )
        return None


def _rescue(session: Session, selection_id: str, settings: Settings) -> _Rescued | None:
    query = select(Selection).where(Selection.id == selection_id, _is_dead())
    selection = session.scalar(query.with_for_update(skip_locked=True))
    if selection is None:
        return None
    status = rescue(session, selection, settings, describe_crash)
    return _Rescued(status, Doorbell(selection_id, selection.attempt))


def _ring(database: Database, queue: JobQueue, settings: Settings, dead: list[Doorbell], *, has_settled: bool) -> int:
    """Stop attempts that must not live on, and enqueue what waits. Returns the number of enqueued selections."""
    waiting = list(_find_waiting(database, settings))
    # Repeated, because the command to stop an attempt may be lost.
    forgotten = [entry.doorbell.previous for entry in waiting if entry.is_old and entry.doorbell.attempt > 1]
    try:
        if unwanted := dead + forgotten + _find_pointless(database, queue, settings):
            queue.stop(unwanted)
        # Right after an outage, a late work-horse is about to claim its selection.
        return queue.enqueue_lost([entry.doorbell for entry in waiting], stop_late=has_settled) if waiting else 0
    except RedisError as error:
        _log.warning("Redis does not answer; the next sweep will enqueue (%s)", type(error).__name__)
        return 0


def _find_waiting(database: Database, settings: Settings) -> Iterator[_Waiting]:
    """Selections that wait for a worker, in the order of the queue, a page in each transaction.

    A new selection is first left to the request that created it.
    """
    place = tuple_(Selection.queued_at, Selection.id)
    is_old = and_(Selection.attempt > 0, Selection.queued_at < _ago(settings.lease_seconds))
    query = select(Selection.id, Selection.attempt, is_old, Selection.queued_at).where(
        Selection.status == Status.QUEUED,
        Selection.not_before <= func.now(),
        or_(Selection.attempt > 0, Selection.queued_at < _ago(settings.sweep_interval_seconds)),
    )
    query = query.order_by(Selection.queued_at, Selection.id).limit(_PAGE_ROWS)
    following = query
    while True:
        with database.session_scope() as session:
            page = session.execute(following).all()
        for id_, attempt, has_waited, _ in page:
            yield _Waiting(Doorbell(id_, attempt + 1), has_waited)
        if len(page) < _PAGE_ROWS:
            return
        following = query.where(place > (page[-1].queued_at, page[-1].id))


def _find_pointless(database: Database, queue: JobQueue, settings: Settings) -> list[Doorbell]:
    """Attempts that a worker still runs although their selections ended some time ago, or were deleted."""
    running = queue.list_running()
    if not running:
        return []
    ended_at = func.coalesce(Selection.succeeded_at, Selection.failed_at, Selection.cancelled_at)
    is_over = and_(
        Selection.status.in_([status.value for status in TERMINAL]), ended_at < _ago(settings.stop_grace_seconds)
    )
    ids = {doorbell.selection_id for doorbell in running}
    with database.session_scope() as session:
        kept = set(session.scalars(select(Selection.id).where(Selection.id.in_(ids), not_(is_over))))
    return [doorbell for doorbell in running if doorbell.selection_id not in kept]


def _forget_old_keys(session: Session) -> None:
    session.execute(delete(IdempotencyKey).where(IdempotencyKey.created_at < _ago(_KEY_SECONDS)))


def _is_dead() -> ColumnElement[bool]:
    is_leased = Selection.status.in_([status.value for status in LEASED])
    return and_(is_leased, Selection.lease_until < func.clock_timestamp())


def _ago(seconds: float) -> ColumnElement[Any]:
    return func.now() - timedelta(seconds=seconds)
