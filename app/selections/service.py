"""Decisions about selections. SQL is in the repositories, HTTP in the endpoints."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.dependencies import Page
from app.errors import (
    AlreadyFinished,
    InvalidCursor,
    NoResult,
    NotCancelled,
    NotFailed,
    NotFinished,
    NotFound,
    StillRunning,
)
from app.ids import SELECTION, encode_cursor, path_of
from app.lifecycle import waiting
from app.lifecycle.retry import resume_cancelled, retry_failed
from app.selections import repository
from app.selections.polls import JobState, retry_after
from app.selections.schemas import QueueOut, SelectionSummary
from app.services import Services
from app.store.datasets import delete_unused_datasets
from app.store.quota import hold_quota
from app.store.states import TERMINAL, Status
from app.store.tables import Job
from lens_engine.errors import InvalidInput

_Found = TypeVar("_Found")
_CODES_OF_INPUT = frozenset(kind.code for kind in InvalidInput.__subclasses__())
_GONE = "there is no selection with this id"


@dataclass(frozen=True, slots=True)
class SelectionList:
    """One page of selections, newest first, with the columns of their summaries; `next` is the cursor of the next."""

    jobs: Sequence[Row[Any]]
    next: str | None


def list_page(
    services: Services,
    owner_id: str,
    page: Page,
    status: Status | None = None,
    *filters: Any,
    more: Sequence[str] = (),
) -> SelectionList:
    """Read a page of an owner's selections.

    Args:
        more: names of columns beside those of a summary.

    Raises:
        InvalidCursor: the cursor comes from another list.
    """
    if page.last_id is not None and not page.last_id.startswith(f"{SELECTION}_"):
        raise InvalidCursor("the cursor does not belong to a list of selections")
    older = () if page.last_id is None else (Job.id < page.last_id,)
    of_status = () if status is None else (Job.status == status,)
    names = [name for name in (*SelectionSummary.model_fields, *more) if name in Job.__table__.columns]
    with services.database.session_scope() as session:
        found = repository.list_summaries(session, owner_id, names, page.limit, *filters, *older, *of_status)
    jobs = found[: page.limit]
    return SelectionList(jobs, encode_cursor(jobs[-1].id) if len(found) > page.limit else None)


def get(session: Session, owner_id: str, selection_id: str) -> Job:
    """Return a selection of this owner.

    Raises:
        NotFound: the owner has no selection with this id.
    """
    return _found(repository.find_job(session, owner_id, selection_id))


def get_state(session: Session, owner_id: str, selection_id: str) -> JobState:
    """Return what a poll needs of a selection of this owner.

    Raises:
        NotFound: as `get`.
    """
    return _found(repository.find_state(session, owner_id, selection_id))


def find_place(services: Services, session: Session, state: JobState) -> QueueOut | None:
    """Return the place of a selection in the queue; None if it is not queued."""
    if state.status != Status.QUEUED:
        return None
    position, queue = waiting.find_place(session, state.id, services.settings)
    counts = services.queue.count_workers()
    return QueueOut(position=position, workers=None if counts is None else counts[queue])


def explain_absence(services: Services, selection: Job, what: str) -> NotFinished | NoResult:
    """The error of a selection that has no result, or none yet."""
    status = Status(selection.status)
    if status not in TERMINAL:
        headers = retry_after(services.settings, selection.status, selection.progress)
        return NotFinished(f"the selection is {status}; repeat the request when it has succeeded", headers=headers)
    again = say_again(selection.id, status)
    if selection.error is not None and selection.error["code"] in _CODES_OF_INPUT:
        again = f"; another attempt would fail again, so submit a new one: {selection.error['detail']}"
    return NoResult(f"the selection is {status} and has no {what}{again}")


def say_again(selection_id: str, status: Status) -> str:
    """The request that queues a cancelled or failed selection again; nothing for another status."""
    verb = {Status.CANCELLED: "resume", Status.FAILED: "retry"}.get(status)
    return "" if verb is None else f"; POST {path_of(selection_id)}/{verb} queues it again"


def cancel(session: Session, owner_id: str, selection_id: str) -> tuple[Job, bool]:
    """Cancel a selection. The flag is True if this call changed its status.

    Raises:
        AlreadyFinished: the selection has succeeded or failed.
    """
    has_changed = repository.request_cancel(session, owner_id, selection_id)
    job = get(session, owner_id, selection_id)
    session.refresh(job)
    if job.status in {Status.SUCCEEDED, Status.FAILED}:
        raise AlreadyFinished(f"the selection has {job.status}; there is nothing to cancel")
    return job, has_changed


def retry(services: Services, session: Session, owner_id: str, selection_id: str) -> Job:
    """Queue a failed selection again. The caller enqueues it.

    Raises:
        NotFailed: the selection has not failed.
        TooManyJobs: the owner has too many jobs under way.
    """
    hold_quota(session, owner_id, services.settings)
    retried = _found(retry_failed(session, owner_id, selection_id))
    if not retried.has_changed:
        status = Status(retried.job.status)
        again = say_again(selection_id, status)
        raise NotFailed(f"the selection is {status.value}; only a failed one can be retried{again}")
    return retried.job


def resume(services: Services, session: Session, owner_id: str, selection_id: str) -> tuple[Job, bool]:
    """Queue a cancelled selection again. The flag is True if this call did so; the caller then enqueues it.

    Raises:
        NotCancelled: the selection is neither cancelled nor under way.
        TooManyJobs: the owner has too many jobs under way.
    """
    hold_quota(session, owner_id, services.settings)
    retried = _found(resume_cancelled(session, owner_id, selection_id))
    status = Status(retried.job.status)
    if not retried.has_changed and status not in {Status.QUEUED, Status.RUNNING}:
        again = say_again(selection_id, status)
        raise NotCancelled(f"the selection is {status}; only a cancelled one can be resumed{again}")
    return retried.job, retried.has_changed


def delete(session: Session, owner_id: str, selection_id: str) -> None:
    """Delete an ended selection and those of its datasets that no other selection uses.

    Raises:
        StillRunning: the selection has not ended.
    """
    job = get(session, owner_id, selection_id)
    datasets = [id_ for id_ in (job.dataset_id, job.test_dataset_id) if id_ is not None]
    if not repository.delete_job(session, owner_id, selection_id):
        raise StillRunning(f"the selection is {job.status}; cancel it and wait until it has ended")
    delete_unused_datasets(session, owner_id, datasets)


def _found(value: _Found | None) -> _Found:
    if value is None:
        raise NotFound(_GONE)
    return value
