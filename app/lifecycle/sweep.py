"""The sweep: takes over jobs with expired leases, enqueues as many jobs as wait for a worker, and deletes what is old.

The API sweeps every few seconds. An advisory lock admits one sweep at a time. Rows that a worker is writing are left
to the next sweep. One row that cannot be read or written keeps no other from its rescue.

After an outage or a hang of Postgres, living workers need time to renew their leases, which ran out meanwhile.
For as long as a lease, the sweep then takes nothing over.
"""

import logging
import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from redis.exceptions import RedisError
from sqlalchemy import ColumnElement, and_, delete, func, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from app.ids import SELECTION, first_id
from app.lifecycle.claims import count_waiting
from app.lifecycle.endings import Crash, requeue_dead
from app.logs import find_sqlstate
from app.settings import Settings
from app.store.database import Database, is_away
from app.store.datasets import IS_USED, delete_unused_datasets
from app.store.queue import JobQueue
from app.store.tables import LEASED, TERMINAL, Dataset, IdempotencyKey, Job, Status, StoredCheckpoint

_MOST_A_SWEEP = 20
"""A job may bring 100,000 rows with it, so few are deleted at a time, each in a transaction of its own."""

_log = logging.getLogger(__name__)


def forget_old(database: Database, settings: Settings) -> int:
    """Delete some of what is too old, and return the number of deleted jobs. Another sweep deletes the rest."""
    with database.session_scope() as session:
        _forget_checkpoints(session, settings)
        old = _find_old(session, settings)
    deleted = 0
    for job_id in old:
        with database.session_scope() as session:
            deleted += _forget(session, job_id)
    with database.session_scope() as session:
        _forget_kept(session, settings)
    if deleted:
        _log.info("%d jobs were older than keep_days and are deleted", deleted, extra={"action": "retention"})
    return deleted


def _find_old(session: Session, settings: Settings) -> list[str]:
    """Ids of jobs that ended too long ago, the first created first."""
    if settings.keep_days is None:
        return []
    kept = timedelta(days=settings.keep_days)
    moment = datetime.now(UTC) - kept
    ended_at = func.greatest(Job.succeeded_at, Job.failed_at, Job.cancelled_at)
    query = select(Job.id).where(
        Job.id < first_id(SELECTION, moment),  # by the primary key: a younger job is not read
        Job.status.in_([status.value for status in TERMINAL]),
        ended_at < func.now() - kept,
    )
    return list(session.scalars(query.order_by(Job.id).limit(_MOST_A_SWEEP)))


def _forget(session: Session, job_id: str) -> bool:
    """Delete one job. Returns False if it was queued again or deleted meanwhile."""
    statement = delete(Job).where(Job.id == job_id, Job.status.in_([status.value for status in TERMINAL]))
    columns = (Job.owner_id, Job.dataset_id, Job.test_dataset_id)
    row = session.execute(statement.returning(*columns)).one_or_none()
    if row is None:
        return False
    owner_id, *datasets = row
    delete_unused_datasets(session, owner_id, [id_ for id_ in datasets if id_ is not None])
    return True


def _forget_checkpoints(session: Session, settings: Settings) -> None:
    """Delete the checkpoints of selections that were cancelled too long ago to be resumed from them."""
    too_old = select(StoredCheckpoint.job_id).join(Job, Job.id == StoredCheckpoint.job_id)
    too_old = too_old.where(
        Job.status == Status.CANCELLED, Job.cancelled_at < func.now() - timedelta(days=settings.resume_days)
    )
    some = too_old.limit(_MOST_A_SWEEP)
    session.execute(delete(StoredCheckpoint).where(StoredCheckpoint.job_id.in_(some)))


def _forget_kept(session: Session, settings: Settings) -> None:
    """Delete some datasets that were stored by themselves too long ago, and that no job uses."""
    if settings.keep_days is None:
        return
    old = select(Dataset.id).where(
        Dataset.id < first_id("ds", datetime.now(UTC) - timedelta(days=settings.keep_days)), Dataset.is_kept, ~IS_USED
    )
    # Locked first, so that the delete sees a submission that uses one of them meanwhile.
    some = session.scalars(old.order_by(Dataset.id).limit(_MOST_A_SWEEP).with_for_update(skip_locked=True)).all()
    session.execute(delete(Dataset).where(Dataset.id.in_(some), ~IS_USED))


_LOCK_KEY = 0x6C656E73_01  # "lens", 1
_PAGE_ROWS = 200
_NO_ROOM = "53"  # class of SQLSTATE: the disk is full, among others; it is not the fault of a row
_KEY_SECONDS = 86_400.0
"""Time for which the answer to an idempotency key is kept."""


@dataclass(frozen=True, slots=True)
class SweepReport:
    """Numbers of jobs that one sweep changed. `skipped`: another process was sweeping."""

    rescued: int = 0
    failed: int = 0
    cancelled: int = 0
    enqueued: int = 0
    skipped: bool = False


class Settling:
    """Whether a lease that ran out may be that of a living worker, which could not renew it.

    Postgres was away, hung, or took no writes.
    """

    def __init__(self, lease_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lease = lease_seconds
        self._answered_at = self._silent_until = -math.inf

    def note_answer(self) -> bool:
        """Note that Postgres takes writes now. Returns whether it has done so for a lease's time without a silence.

        A holder renews long before its lease ends, so a shorter silence cost nobody a lease.
        Nobody knows what was before this process started, so a start counts as a silence.
        """
        now = self._clock()
        if now - self._answered_at > self._lease / 2:
            self._silent_until = now
        self._answered_at = now
        return now - self._silent_until >= self._lease

    def pause(self) -> None:
        """Forget the time since the last answer: Postgres was not asked."""
        self._answered_at = self._clock()

    def note_silence(self) -> None:
        self._silent_until = self._clock()


def sweep(database: Database, queue: JobQueue, settings: Settings, settling: Settling) -> SweepReport:
    """Take over expired leases, then see that the queue holds a job for each that waits.

    `settling`: remembers from one sweep to the next whether Postgres was away.
    """
    try:
        report = _sweep(database, queue, settings, settling)
    except DBAPIError as error:
        if _is_outage(error):
            settling.note_silence()
        raise
    settling.note_answer()
    return report


def _sweep(database: Database, queue: JobQueue, settings: Settings, settling: Settling) -> SweepReport:
    with database.session_scope() as session:
        if is_first := _lock(session):
            # A write: a server that only reads lets nobody renew a lease.
            old = IdempotencyKey.created_at < func.now() - timedelta(seconds=_KEY_SECONDS)
            session.execute(delete(IdempotencyKey).where(old))
        settling.note_answer()
    if not is_first:
        return SweepReport(skipped=True)
    statuses = _rescue_all(database, settings, settling)
    report = SweepReport(
        rescued=statuses[Status.QUEUED],
        failed=statuses[Status.FAILED],
        cancelled=statuses[Status.CANCELLED],
        enqueued=_enqueue(database, queue, settings, settling),
    )
    forget_old(database, settings)
    if report != SweepReport():
        _log.info("sweep: %s", report, extra={"action": "sweep"})
    return report


def _is_outage(error: DBAPIError) -> bool:
    return is_away(error) or (find_sqlstate(error) or "").startswith(_NO_ROOM)


def _lock(session: Session) -> bool:
    """Keep other processes from sweeping until the transaction ends. Returns False if one does."""
    return bool(session.scalar(select(func.pg_try_advisory_xact_lock(_LOCK_KEY))))


def _rescue_all(database: Database, settings: Settings, settling: Settling) -> Counter[Status]:
    """Take over the expired leases, a page in each transaction. Stops when another process begins to sweep."""
    rescued = Counter[Status]()
    last = ""
    while True:
        with database.session_scope() as session:
            dead = select(Job.id).where(_is_dead(), Job.id > last).order_by(Job.id).limit(_PAGE_ROWS)
            page = session.scalars(dead).all() if _lock(session) else []
            statuses = (_try_rescue(session, id_, settings, settling) for id_ in page)
            rescued.update(status for status in statuses if status is not None)
        if len(page) < _PAGE_ROWS:
            return rescued
        last = page[-1]


def _try_rescue(session: Session, job_id: str, settings: Settings, settling: Settling) -> Status | None:
    """Rescue one job. Returns None if its holder may be alive, or is writing, or if the row is broken."""
    try:
        with session.begin_nested():
            return _rescue(session, job_id, settings, settling)
    except Exception as error:
        if isinstance(error, DBAPIError) and _is_outage(error):
            raise
        # The message is not logged, because Postgres repeats the row in it.
        _log.error(
            "%s cannot be rescued (%s, SQLSTATE %s); the next sweep tries again",
            job_id,
            type(error).__name__,
            find_sqlstate(error),
            extra={"action": "rescue-failed", "job_id": job_id},
        )
        return None


def _rescue(session: Session, job_id: str, settings: Settings, settling: Settling) -> Status | None:
    query = select(Job).where(Job.id == job_id, _is_dead())
    job = session.scalar(query.with_for_update(skip_locked=True))
    if job is None or not settling.note_answer():
        return None
    return requeue_dead(session, job, Crash.died(settings))


def _enqueue(database: Database, queue: JobQueue, settings: Settings, settling: Settling) -> int:
    """Wake workers for what waits. Returns the number of enqueued jobs."""
    with database.session_scope() as session:
        waiting = count_waiting(session, settings)
    settling.note_answer()
    try:
        return queue.wake(waiting)
    except RedisError as error:
        _log.warning("Redis does not answer; the next sweep will enqueue (%s)", type(error).__name__)
        return 0
    finally:
        settling.pause()  # Redis may have taken its time


def _is_dead() -> ColumnElement[bool]:
    is_leased = Job.status.in_([status.value for status in LEASED])
    return and_(is_leased, Job.lease_until < func.clock_timestamp())
