"""Decisions about selections and what they found. SQL is in the repositories, HTTP in the endpoints."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from sqlalchemy import Row
from sqlalchemy.orm import Session

from app.answers.stored import ClassifierPart, SuspiciousPart
from app.dependencies import Page
from app.errors import (
    AlreadyFinished,
    InvalidCursor,
    NoClassifier,
    NoResult,
    NotCancelled,
    NotFailed,
    NotFinished,
    NotFound,
    StillRunning,
)
from app.ids import SELECTION, encode_cursor, path_of
from app.lifecycle.retry import resume_cancelled, retry_failed
from app.selections import queue_place, repository
from app.selections.polls import JobState, retry_after
from app.selections.result_schemas import SuspiciousLabelOut, SuspiciousLabelsOut
from app.selections.schemas import QueueOut, SelectionSummary
from app.services import Services
from app.store.datasets import delete_unused_datasets, load_texts
from app.store.quota import hold_quota
from app.store.states import TERMINAL, Status
from app.store.tables import Job, Report
from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.input_format import InputFormat
from lens_engine.errors import InvalidInput
from lens_engine.result import SelectionResult
from lens_engine.show.report import ResultView, Texts

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
    settings, counts = services.settings, services.queue.count_workers()
    # Without models to load, all jobs have one queue.
    place = queue_place.find_place(session, state, settings.endpoints if settings.allowed_models else ())
    workers = None if counts is None else counts[settings.queue_of(place.model)]
    return QueueOut(position=place.position, owners=place.owners, workers=workers)


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


def get_report(services: Services, session: Session, owner_id: str, selection_id: str) -> Report:
    """Return the result of a finished selection.

    Raises:
        NotFinished: the selection has no result yet.
        NoResult: the selection ended without a result.
    """
    selection = get(session, owner_id, selection_id)
    report = repository.find_report(session, selection_id)
    if report is None:
        raise explain_absence(services, selection, "support examples")
    return report


def list_suspicious_labels(
    services: Services, session: Session, owner_id: str, selection_id: str
) -> SuspiciousLabelsOut:
    """Return the rows of a finished selection whose label is probably wrong, with their texts.

    Raises:
        NotFinished, NoResult: as `get_report`.
    """
    report = get_report(services, session, owner_id, selection_id)
    found = SuspiciousPart.model_validate(report.result).suspicious_labels
    dataset_id = get(session, owner_id, selection_id).dataset_id
    texts = load_texts(session, dataset_id, [one.row for one in found])
    items = [SuspiciousLabelOut(**dict(one), text=texts[one.row]) for one in found]
    return SuspiciousLabelsOut(selection_id=selection_id, items=items)


def get_view(services: Services, owner_id: str, selection_id: str, *, with_wrong: bool = False) -> ResultView:
    """Return the result of a finished selection as a report shows it, with the texts of suspicious labels.

    No transaction is open while the result is read, which takes up to a second.

    Args:
        with_wrong: also with the texts of wrong answers.

    Raises:
        NotFinished, NoResult: as `get_report`.
    """
    with services.database.session_scope() as session:
        report, selection = get_report(services, session, owner_id, selection_id), get(session, owner_id, selection_id)
        stored = repository.find_classifier(session, selection_id)
        suspicious = SuspiciousPart.model_validate(report.result).suspicious_labels
        texts = load_texts(session, selection.dataset_id, [one.row for one in suspicious])
    result = SelectionResult.model_validate(report.result | {"classifier": stored and stored.classifier})
    view = ResultView(result, Texts(texts), selection.name, _say_origin(selection))
    if not with_wrong:
        return view
    with services.database.session_scope() as session:
        test_id = selection.test_dataset_id or selection.dataset_id
        return replace(view, texts=Texts(texts, load_texts(session, test_id, view.wrong_rows)))


def _say_origin(selection: Job) -> str:
    return f"{selection.id}, with {selection.model}, submitted {selection.created_at:%Y-%m-%d %H:%M} UTC"


def get_classifier(services: Services, session: Session, owner_id: str, selection_id: str) -> Classifier:
    """Return the classifier to use of a finished selection.

    Raises:
        NotFinished: the selection has no result yet.
        NoResult: the selection ended without a result.
        NoClassifier: the result has no classifier.
    """
    selection = get(session, owner_id, selection_id)
    stored = repository.find_classifier(session, selection_id)
    if stored is not None:
        return Classifier.model_validate(stored.classifier)
    get_report(services, session, owner_id, selection_id)
    raise NoClassifier(f"the result has no classifier: {_say_why_none(selection)}")


def find_input(session: Session, selection_id: str) -> InputFormat | None:
    """How the file of a selection was written, as its classifier holds it; None without one."""
    stored = repository.find_classifier(session, selection_id)
    return None if stored is None else ClassifierPart.model_validate(stored.classifier).input


def _say_why_none(selection: Job) -> str:
    """Why a result has no classifier, and how to get one."""
    if selection.status == Status.CANCELLED:
        again = say_again(selection.id, Status.CANCELLED)
        return f"the selection was cancelled before one was made{again}"
    why, what = "none was asked for, or the rows are too few for one", "another classifier.kind, or more rows"
    if selection.partial:
        why, what = "its budget or time ended before one was made", "a larger budget"
    return f"{why}; submit a new selection with dataset_id {selection.dataset_id} and {what}"


def _found(value: _Found | None) -> _Found:
    if value is None:
        raise NotFound(_GONE)
    return value
