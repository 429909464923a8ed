"""An ended job begins again, as its owner asks: retry of a failed one, resume of a cancelled one.

Both queue the job, whose row is locked, again under its id. Its history stays in its events.
"""

from typing import Any

from sqlalchemy import delete, exists, func, insert, select
from sqlalchemy.orm import Session

from app.store.pools import delete_pool_without_result
from app.store.states import Status
from app.store.tables import Event, Job, Report, StoredCheckpoint, StoredClassifier

RETRIED = "retried"
RESUMED = "resumed"


def retry_failed(session: Session, job: Job) -> None:
    """Queue a failed job again from the start, with no crash counted."""
    _queue_again(session, job, RETRIED, {"error": job.error}, keeps_progress=False)


def resume_cancelled(session: Session, job: Job) -> None:
    """Queue a cancelled job again, to go on from its checkpoint, or from the start if it has none.

    Its partial result is deleted.
    """
    has_checkpoint, had_result = (
        bool(session.scalar(select(exists().where(table.job_id == job.id)))) for table in (StoredCheckpoint, Report)
    )
    for table in (Report, StoredClassifier):
        session.execute(delete(table).where(table.job_id == job.id))
    if not has_checkpoint:
        delete_pool_without_result(session, job.id)
    about = {"from_checkpoint": has_checkpoint, "result_deleted": had_result}
    _queue_again(session, job, RESUMED, about, keeps_progress=has_checkpoint)


def _queue_again(session: Session, job: Job, event: str, about: dict[str, Any], *, keeps_progress: bool) -> None:
    """Give the row the values of a queued job. `attempt` stays: the next claim raises it."""
    session.execute(insert(Event).values(job_id=job.id, type=event, data={**about, "attempt": job.attempt}))
    now: Any = func.now()
    job.status, job.crashes = Status.QUEUED, 0
    job.queued_at = job.not_before = now
    times = ("cancel_requested_at", "cancelled_at", "failed_at")
    for name in (*times, "error", "partial", "stop_reason", "figures", "dtype", "digest", "provenance"):
        setattr(job, name, None)
    if not keeps_progress:
        job.phase = job.progress = None
    session.flush()
    session.refresh(job)
