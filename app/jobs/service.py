"""Decisions about jobs of every kind. SQL is in the repository, HTTP in the endpoints."""

from typing import TypeVar

from sqlalchemy.orm import Session

from app.errors import AlreadyFinished, NoResult, NotCancelled, NotFailed, NotFinished, NotFound, StillRunning
from app.ids import path_of
from app.jobs import queue_place, repository
from app.jobs.polls import JobState, retry_after
from app.jobs.schemas import QueueOut
from app.lifecycle.retry import resume_cancelled, retry_failed
from app.services import Services
from app.store.datasets import delete_unused_datasets
from app.store.quota import hold_quota
from app.store.states import TERMINAL, Status
from app.store.tables import Job
from lens_engine.errors import InvalidInput

_Found = TypeVar("_Found")
_CODES_OF_INPUT = frozenset(kind.code for kind in InvalidInput.__subclasses__())


def get(session: Session, owner_id: str, kind: str, job_id: str) -> Job:
    """Return a job of this owner.

    Raises:
        NotFound: the owner has no job of this kind with this id.
    """
    return _found(repository.find_job(session, owner_id, kind, job_id), kind)


def get_state(session: Session, owner_id: str, kind: str, job_id: str) -> JobState:
    """Return what a poll needs of a job of this owner.

    Raises:
        NotFound: as `get`.
    """
    return _found(repository.find_state(session, owner_id, kind, job_id), kind)


def find_place(services: Services, session: Session, state: JobState) -> QueueOut | None:
    """Return the place of a job in the queue; None if it is not queued."""
    if state.status != Status.QUEUED:
        return None
    settings, counts = services.settings, services.queue.count_workers()
    # Without models to load, all jobs have one queue.
    place = queue_place.find_place(session, state, settings.endpoints if settings.allowed_models else ())
    workers = None if counts is None else counts[settings.queue_of(place.model)]
    return QueueOut(position=place.position, owners=place.owners, workers=workers)


def explain_absence(services: Services, job: Job, what: str) -> NotFinished | NoResult:
    """The error of a job that has no result, or none yet."""
    status = Status(job.status)
    if status not in TERMINAL:
        headers = retry_after(services.settings, job.status, job.progress)
        return NotFinished(f"the {job.kind} is {status}; repeat the request when it has succeeded", headers=headers)
    again = say_again(job.kind, job.id, status)
    if job.error is not None and job.error["code"] in _CODES_OF_INPUT:
        again = f"; another attempt would fail again, so submit a new {job.kind}: {job.error['detail']}"
    return NoResult(f"the {job.kind} is {status} and has no {what}{again}")


def say_again(kind: str, job_id: str, status: Status) -> str:
    """The request that queues a cancelled or failed job again; nothing for another status."""
    verb = {Status.CANCELLED: "resume", Status.FAILED: "retry"}.get(status)
    return "" if verb is None else f"; POST {path_of(kind, job_id)}/{verb} queues it again"


def cancel(session: Session, owner_id: str, kind: str, job_id: str) -> tuple[Job, bool]:
    """Cancel a job. The flag is True if this call changed its status.

    Raises:
        AlreadyFinished: the job has succeeded or failed.
    """
    has_changed = repository.request_cancel(session, owner_id, kind, job_id)
    job = get(session, owner_id, kind, job_id)
    session.refresh(job)
    if job.status in {Status.SUCCEEDED, Status.FAILED}:
        raise AlreadyFinished(f"the {kind} has {job.status}; there is nothing to cancel")
    return job, has_changed


def retry(services: Services, session: Session, owner_id: str, kind: str, job_id: str) -> Job:
    """Queue a failed job again. The caller enqueues it.

    Raises:
        NotFailed: the job has not failed.
        TooManyJobs: the owner has too many jobs under way.
    """
    hold_quota(session, owner_id, services.settings)
    retried = _found(retry_failed(session, owner_id, kind, job_id), kind)
    if not retried.has_changed:
        status = Status(retried.job.status)
        again = say_again(kind, job_id, status)
        raise NotFailed(f"the {kind} is {status.value}; only a failed {kind} can be retried{again}")
    return retried.job


def resume(services: Services, session: Session, owner_id: str, kind: str, job_id: str) -> tuple[Job, bool]:
    """Queue a cancelled job again. The flag is True if this call did so; the caller then enqueues it.

    Raises:
        NotCancelled: the job is neither cancelled nor under way.
        TooManyJobs: the owner has too many jobs under way.
    """
    hold_quota(session, owner_id, services.settings)
    retried = _found(resume_cancelled(session, owner_id, kind, job_id), kind)
    status = Status(retried.job.status)
    if not retried.has_changed and status not in {Status.QUEUED, Status.RUNNING}:
        again = say_again(kind, job_id, status)
        raise NotCancelled(f"the {kind} is {status}; only a cancelled {kind} can be resumed{again}")
    return retried.job, retried.has_changed


def delete(session: Session, owner_id: str, kind: str, job_id: str) -> None:
    """Delete an ended job and those of its datasets that no other job uses.

    Raises:
        StillRunning: the job has not ended.
    """
    job = get(session, owner_id, kind, job_id)
    datasets = [id_ for id_ in (job.dataset_id, job.test_dataset_id) if id_ is not None]
    if not repository.delete_job(session, owner_id, kind, job_id):
        raise StillRunning(f"the {kind} is {job.status}; cancel the {kind} and wait until it has ended")
    delete_unused_datasets(session, owner_id, datasets)


def _found(value: _Found | None, kind: str) -> _Found:
    if value is None:
        raise NotFound(f"there is no {kind} with this id")
    return value
