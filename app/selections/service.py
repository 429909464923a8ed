"""Decisions about selections, and their SQL. HTTP is in the endpoints."""

from collections.abc import Sequence
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Row, func, select, update
from sqlalchemy import delete as delete_from
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session

from app.errors import BadRequest, Conflict, NoResult, NotFinished, NotFound
from app.ids import SELECTION, path_of
from app.lifecycle import claims
from app.lifecycle.endings import queue_again
from app.lifecycle.results import end_cancelled
from app.selections.schemas import JobState, QueueOut, SelectionSummary, retry_after
from app.store.datasets import delete_unused_datasets
from app.store.quota import hold_quota
from app.store.services import Services
from app.store.tables import TERMINAL, Event, Job, Status
from app.web.dependencies import Page
from lens_engine.errors import InvalidInput

_Found = TypeVar("_Found")
_RESUMABLE = frozenset({Status.CANCELLED, Status.FAILED})
_CODES_OF_INPUT = frozenset(kind.code for kind in InvalidInput.__subclasses__())


def list_page(
    services: Services, owner_id: str, page: Page, *filters: ColumnElement[bool], more: Sequence[str] = ()
) -> tuple[Sequence[Row[Any]], str | None]:
    """One page of an owner's selections, newest first, with the columns of their summaries, and the cursor of the next.

    Specs, warnings and single errors are not read: of two hundred selections they may have 70 MB.

    `more`: names of columns beside those of a summary.
    """
    if page.last_id is not None and not page.last_id.startswith(f"{SELECTION}_"):
        raise BadRequest("the cursor does not belong to a list of selections", code="invalid-cursor")
    names = [name for name in (*SelectionSummary.model_fields, *more) if name in Job.__table__.columns]
    brief = {"error": Job.error.op("-", return_type=JSONB)("errors").label("error")}
    columns = [brief.get(name, getattr(Job, name)) for name in names]
    statement = select(*columns).where(Job.owner_id == owner_id, *filters)
    if page.last_id is not None:
        statement = statement.where(Job.id < page.last_id)
    with services.database.session_scope() as session:
        found = session.execute(statement.order_by(Job.id.desc()).limit(page.limit + 1)).all()
    return page.cut(found, lambda one: one.id)


def get(session: Session, owner_id: str, selection_id: str) -> Job:
    """Return a selection of this owner. Raises NotFound if the owner has no selection with this id."""
    return _found(session.scalar(select(Job).where(*is_own(owner_id, selection_id))))


def find_locked(session: Session, owner_id: str, selection_id: str) -> Job | None:
    """A selection of this owner, which nobody resumes or deletes until the transaction ends."""
    return session.scalar(select(Job).where(*is_own(owner_id, selection_id)).with_for_update(read=True))


def get_state(session: Session, owner_id: str, selection_id: str) -> JobState:
    """Return what a poll needs, without spec, warnings and error, which may be large. Raises NotFound as `get`."""
    columns = [getattr(Job, name) for name in JobState.__slots__]
    return JobState(*_found(session.execute(select(*columns).where(*is_own(owner_id, selection_id))).one_or_none()))


def find_place(services: Services, session: Session, state: JobState) -> QueueOut | None:
    """Return the place of a selection in the queue; None if it is not queued."""
    if state.status != Status.QUEUED:
        return None
    position, queue = claims.find_place(session, state.id, services.settings)
    counts = services.queue.count_workers()
    return QueueOut(position=position, workers=None if counts is None else counts[queue])


def list_events(session: Session, selection_id: str, after: int, limit: int) -> Sequence[Event]:
    """Return up to `limit` + 1 events, oldest first. The extra one shows that there is a next page."""
    statement = select(Event).where(Event.job_id == selection_id, Event.id > after)
    return session.scalars(statement.order_by(Event.id).limit(limit + 1)).all()


def list_newest_events(session: Session, selection_id: str, limit: int) -> Sequence[Event]:
    """Return the newest events, oldest first."""
    newest = select(Event).where(Event.job_id == selection_id).order_by(Event.id.desc()).limit(limit)
    return session.scalars(newest).all()[::-1]


def explain_absence(services: Services, selection: Job, what: str) -> NotFinished | NoResult:
    """The error of a selection that has no result, or none yet."""
    status = Status(selection.status)
    if status not in TERMINAL:
        headers = retry_after(services.settings, selection.status, selection.progress)
        return NotFinished(f"the selection is {status}; repeat the request when it has succeeded", headers=headers)
    again = say_again(selection)
    if selection.error is not None and selection.error["code"] in _CODES_OF_INPUT:
        again = f"; another attempt would fail again, so submit a new one: {selection.error['detail']}"
    return NoResult(f"the selection is {status} and has no {what}{again}")


def say_again(selection: Job) -> str:
    """The request that queues a cancelled or failed selection again; nothing for one of another status."""
    is_resumable = selection.status in _RESUMABLE
    return f"; POST {path_of(selection.id)}/resume queues it again" if is_resumable else ""


def cancel(session: Session, owner_id: str, selection_id: str) -> tuple[Job, bool]:
    """Cancel a queued selection, or request the stop of a running one. The flag is True if this call did so.

    A selection that was queued again keeps the best so far of its checkpoint.
    Raises Conflict if the selection has succeeded or failed.
    """
    job = _lock(session, owner_id, selection_id)
    if job.status in {Status.SUCCEEDED, Status.FAILED}:
        raise Conflict(f"the selection has {job.status}; there is nothing to cancel", code="already-finished")
    has_changed = job.status in {Status.QUEUED, Status.RUNNING}
    if has_changed:
        requested = update(Job).where(Job.id == selection_id).values(cancel_requested_at=func.now())
        if job.status == Status.RUNNING:
            session.execute(requested.values(status=Status.CANCELLING))
        else:
            session.execute(requested)
            end_cancelled(session, selection_id)
        session.refresh(job)
    return job, has_changed


def resume(services: Services, session: Session, owner_id: str, selection_id: str) -> tuple[Job, bool]:
    """Queue a cancelled or failed selection again. The flag is True if this call did so; the caller then enqueues it.

    Raises Conflict if the selection has another status, and TooManyRequests if the owner has too many jobs under way.
    """
    hold_quota(session, owner_id, services.settings)
    job = _lock(session, owner_id, selection_id)
    if job.status in {Status.QUEUED, Status.RUNNING}:
        return job, False
    if job.status not in _RESUMABLE:
        detail = f"the selection is {job.status}; only a cancelled or failed one can be resumed"
        raise Conflict(detail, code="not-cancelled")
    queue_again(session, job)
    return job, True


def delete(session: Session, owner_id: str, selection_id: str) -> None:
    """Delete an ended selection and its datasets that no other uses. Raises Conflict if it has not ended."""
    job = get(session, owner_id, selection_id)
    datasets = [id_ for id_ in (job.dataset_id, job.test_dataset_id) if id_ is not None]
    has_ended = Job.status.in_([status.value for status in TERMINAL])
    deleting = delete_from(Job).where(*is_own(owner_id, selection_id), has_ended)
    if session.scalar(deleting.returning(Job.id)) is None:
        raise Conflict(f"the selection is {job.status}; cancel it and wait until it has ended", code="still-running")
    delete_unused_datasets(session, owner_id, datasets)


def is_own(owner_id: str, job_id: str) -> tuple[ColumnElement[bool], ...]:
    """The selection with this id, unless it is of another owner."""
    return Job.id == job_id, Job.owner_id == owner_id


def _lock(session: Session, owner_id: str, selection_id: str) -> Job:
    return _found(session.scalar(select(Job).where(*is_own(owner_id, selection_id)).with_for_update()))


def _found(value: _Found | None) -> _Found:
    if value is None:
        raise NotFound("there is no selection with this id")
    return value
