"""An ended job begins again, as its owner asks: retry of a failed one, resume of a cancelled one.

Both queue the job again under its id. Its history stays in its events.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, exists, func, insert, select
from sqlalchemy.orm import Session

from app.store.pools import delete_pool_without_result
from app.store.states import Status
from app.store.tables import Event, Job, Report, StoredCheckpoint, StoredClassifier

RETRIED = "retried"
RESUMED = "resumed"


@dataclass(frozen=True, slots=True)
class Retried:
    """A job after the request. `has_changed`: this request queued it again."""

    job: Job
    has_changed: bool


def retry_failed(session: Session, owner_id: str, job_id: str) -> Retried | None:
    """Queue a failed job again from the start, with no crash counted. None if the owner has no such one."""
    job = _lock(session, owner_id, job_id)
    if job is None or job.status != Status.FAILED:
        return None if job is None else Retried(job, has_changed=False)
    _record(session, job, RETRIED, {"error": job.error})
    _queue_again(session, job, keeps_progress=False)
    return Retried(job, has_changed=True)


def resume_cancelled(session: Session, owner_id: str, job_id: str) -> Retried | None:
    """Queue a cancelled job again, to go on from its checkpoint, or from the start if it has none.

    Its partial result is deleted. None if the owner has no such job.
    """
    job = _lock(session, owner_id, job_id)
    if job is None or job.status != Status.CANCELLED:
        return None if job is None else Retried(job, has_changed=False)
    has_checkpoint = _has(session, StoredCheckpoint, job_id)
    had_result = _has(session, Report, job_id)
    _record(session, job, RESUMED, {"from_checkpoint": has_checkpoint, "result_deleted": had_result})
    for table in (Report, StoredClassifier):
        session.execute(delete(table).where(table.job_id == job_id))
    if not has_checkpoint:
        delete_pool_without_result(session, job_id)
    _queue_again(session, job, keeps_progress=has_checkpoint)
    return Retried(job, has_changed=True)


def _lock(session: Session, owner_id: str, job_id: str) -> Job | None:
    query = select(Job).where(Job.id == job_id, Job.owner_id == owner_id)
    return session.scalar(query.with_for_update())


def _has(session: Session, table: type[StoredCheckpoint | Report], job_id: str) -> bool:
    return bool(session.scalar(select(exists().where(table.job_id == job_id))))


def _record(session: Session, job: Job, kind: str, data: dict[str, Any]) -> None:
    values = {"job_id": job.id, "type": kind, "data": {**data, "attempt": job.attempt}}
    session.execute(insert(Event).values(**values))


def _queue_again(session: Session, job: Job, *, keeps_progress: bool) -> None:
    """Give the row the values of a queued job. `attempt` stays: the next claim raises it."""
    now: Any = func.now()
    job.status = Status.QUEUED
    job.crashes = 0
    job.queued_at = job.not_before = now
    for name in ("cancel_requested_at", "cancelled_at", "failed_at"):
        setattr(job, name, None)
    for name in ("error", "partial", "stop_reason", "figures", "dtype", "digest", "provenance"):
        setattr(job, name, None)
    if not keeps_progress:
        job.phase = job.progress = None
    session.flush()
    session.refresh(job)
