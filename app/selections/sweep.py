"""The sweep: takes over selections with expired leases and enqueues queued ones without a job.

Only the sweep retries selections. The API sweeps every few seconds, and a worker sweeps once at its
start. An advisory lock admits one sweep at a time. Rows that a worker is writing are left to the next
sweep.
"""

import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from redis.exceptions import RedisError
from sqlalchemy import ColumnElement, Float, delete, func, or_, select
from sqlalchemy.orm import Session

from app.database import Database
from app.models import IdempotencyKey, Selection, StoredCheckpoint
from app.queue import Doorbell, JobQueue
from app.selections.rescue import describe_crash, rescue
from app.selections.states import LEASED, Status
from app.settings import Settings

_LOCK_KEY = 0x6C656E73_01  # "lens", 1
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SweepReport:
    """Numbers of selections that one sweep changed. `skipped`: another process was sweeping."""

    rescued: int = 0
    failed: int = 0
    cancelled: int = 0
    enqueued: int = 0
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class _Found:
    outcomes: list[Status]
    doorbells: list[Doorbell]
    dead: list[Doorbell]  #: attempts whose work-horses must not live on


def sweep(database: Database, queue: JobQueue, settings: Settings) -> SweepReport:
    """Take over expired leases, then enqueue queued selections without a live job."""
    with database.session_scope() as session:
        if not session.scalar(select(func.pg_try_advisory_xact_lock(_LOCK_KEY))):
            return SweepReport(skipped=True)
        found = _inspect(session, settings)
    report = SweepReport(
        rescued=found.outcomes.count(Status.QUEUED),
        failed=found.outcomes.count(Status.FAILED),
        cancelled=found.outcomes.count(Status.CANCELLED),
        enqueued=_ring(queue, found),
    )
    if report != SweepReport():
        _log.info("sweep: %s", report, extra={"action": "sweep"})
    return report


def _inspect(session: Session, settings: Settings) -> _Found:
    dead = _dead(session)
    outcomes = [rescue(selection, settings, describe_crash) for selection in dead]
    session.flush()
    ended = [selection.id for selection in dead if selection.status != Status.QUEUED]
    session.execute(delete(StoredCheckpoint).where(StoredCheckpoint.selection_id.in_(ended)))
    _forget_old_keys(session, settings)
    rescued = [Doorbell(selection.id, selection.attempt) for selection in dead]
    forgotten = _forgotten(session, settings)
    return _Found(outcomes, _queued(session, settings), rescued + forgotten + _overdue(session, settings))


def _dead(session: Session) -> list[Selection]:
    query = select(Selection).where(_is_leased(), Selection.lease_until < func.clock_timestamp())
    return list(session.scalars(query.with_for_update(skip_locked=True)))


def _queued(session: Session, settings: Settings) -> list[Doorbell]:
    """Selections that wait for a worker. A new one is first left to the request that created it."""
    max_seconds = Selection.spec["config"]["budget"]["max_seconds"].astext.cast(Float)
    query = select(Selection.id, Selection.attempt, max_seconds).where(
        Selection.status == Status.QUEUED,
        Selection.not_before <= func.now(),
        or_(Selection.attempt > 0, Selection.queued_at < _ago(settings.doorbell_grace_seconds)),
    )
    return [
        Doorbell(id_, attempt + 1, seconds) for id_, attempt, seconds in session.execute(query.order_by(Selection.id))
    ]


def _overdue(session: Session, settings: Settings) -> list[Doorbell]:
    """Runs that have ignored their cancel request for too long."""
    query = select(Selection.id, Selection.attempt).where(
        Selection.status == Status.CANCELLING, Selection.cancel_requested_at < _ago(settings.stop_grace_seconds)
    )
    return [Doorbell(id_, attempt) for id_, attempt in session.execute(query)]


def _forgotten(session: Session, settings: Settings) -> list[Doorbell]:
    """Attempts before the next one of selections that wait. The command that should have stopped them may be lost."""
    query = select(Selection.id, Selection.attempt).where(
        Selection.status == Status.QUEUED, Selection.attempt > 0, Selection.queued_at < _ago(settings.lease_seconds)
    )
    return [Doorbell(id_, attempt) for id_, attempt in session.execute(query)]


def _forget_old_keys(session: Session, settings: Settings) -> None:
    session.execute(delete(IdempotencyKey).where(IdempotencyKey.created_at < _ago(settings.idempotency_hours * 3600)))


def _ring(queue: JobQueue, found: _Found) -> int:
    try:
        if found.dead:
            queue.stop(found.dead)
        return queue.enqueue_lost(found.doorbells) if found.doorbells else 0
    except RedisError as error:
        _log.warning("Redis does not answer; the next sweep will enqueue (%s)", type(error).__name__)
        return 0


def _is_leased() -> ColumnElement[bool]:
    return Selection.status.in_([status.value for status in LEASED])


def _ago(seconds: float) -> ColumnElement[Any]:
    return func.now() - timedelta(seconds=seconds)
