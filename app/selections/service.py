"""Decisions about selections. SQL is in the repositories, HTTP in the endpoints."""

from typing import TypeVar

from sqlalchemy.orm import Session

from app.datasets.repository import delete_unused_datasets, load_texts
from app.errors import (
    AlreadyFinished,
    NoClassifier,
    NoResult,
    NotCancelled,
    NotFailed,
    NotFinished,
    NotFound,
    StillRunning,
)
from app.lifecycle.quota import hold_quota
from app.lifecycle.retry import resume_cancelled, retry_failed
from app.lifecycle.states import TERMINAL, Status
from app.models import Report, Selection
from app.selections import repository
from app.selections.polls import SelectionState, retry_after
from app.selections.presentation import present
from app.selections.queue_place import find_position
from app.selections.schemas import QueueOut, SelectionOut, SuspiciousLabelOut, SuspiciousLabelsOut
from app.services import Services
from lens_engine.classifier.classifier import Classifier
from lens_engine.errors import InvalidInput

_Found = TypeVar("_Found")
_CODES_OF_INPUT = frozenset(kind.code for kind in InvalidInput.__subclasses__())


def get(session: Session, owner_id: str, selection_id: str) -> Selection:
    """Return a selection of this owner.

    Raises:
        NotFound: the owner has no selection with this id.
    """
    return _found(repository.find_selection(session, owner_id, selection_id))


def get_state(session: Session, owner_id: str, selection_id: str) -> SelectionState:
    """Return what a poll needs of a selection of this owner.

    Raises:
        NotFound: the owner has no selection with this id.
    """
    return _found(repository.find_state(session, owner_id, selection_id))


def find_place(services: Services, session: Session, state: SelectionState) -> QueueOut | None:
    """Return the place of a selection in the queue; None if it is not queued."""
    if state.status != Status.QUEUED:
        return None
    return QueueOut(position=find_position(session, state), workers=services.queue.count_workers())


def get_report(services: Services, session: Session, owner_id: str, selection_id: str) -> Report:
    """Return the result of a finished selection.

    Raises:
        NotFinished: the selection has no result yet.
        NoResult: the selection ended without a result.
    """
    selection = get(session, owner_id, selection_id)
    report = repository.find_report(session, selection_id)
    if report is None and Status(selection.status) in TERMINAL:
        again = _say_again(selection_id, Status(selection.status))
        if selection.error is not None and selection.error["code"] in _CODES_OF_INPUT:
            again = f"; another attempt would fail again, so submit a new selection: {selection.error['detail']}"
        raise NoResult(f"the selection is {selection.status} and has no support examples{again}")
    if report is None:
        raise NotFinished(
            f"the selection is {selection.status}; repeat the request when it has succeeded",
            headers=retry_after(services.settings, selection.status, selection.progress),
        )
    return report


def list_suspicious_labels(
    services: Services, session: Session, owner_id: str, selection_id: str
) -> SuspiciousLabelsOut:
    """Return the rows of a finished selection whose label is probably wrong, with their texts.

    Raises:
        NotFinished, NoResult: as `get_report`.
    """
    report = get_report(services, session, owner_id, selection_id)
    found = report.result.get("suspicious_labels", [])
    dataset_id = get(session, owner_id, selection_id).dataset_id
    texts = load_texts(session, dataset_id, [one["row"] for one in found])
    items = [SuspiciousLabelOut(**one, text=texts[one["row"]]) for one in found]
    return SuspiciousLabelsOut(selection_id=selection_id, items=items)


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


def _say_why_none(selection: Selection) -> str:
    """Why a result has no classifier, and how to get one."""
    if selection.status == Status.CANCELLED:
        return f"the selection was cancelled before one was made{_say_again(selection.id, Status.CANCELLED)}"
    why, what = "none was asked for, or the rows are too few for one", "another classifier.kind, or more rows"
    if selection.partial:
        why, what = "its budget or time ended before one was made", "a larger budget"
    return f"{why}; submit a new selection with dataset_id {selection.dataset_id} and {what}"


def _say_again(selection_id: str, status: Status) -> str:
    """The request that queues a cancelled or failed selection again; nothing for another status."""
    verb = {Status.CANCELLED: "resume", Status.FAILED: "retry"}.get(status)
    return "" if verb is None else f"; POST /selections/{selection_id}/{verb} queues it again"


def cancel(services: Services, owner_id: str, selection_id: str) -> tuple[SelectionOut, bool]:
    """Cancel a selection. The flag is True if this call changed its status.

    Raises:
        AlreadyFinished: the selection has succeeded or failed.
    """
    with services.database.session_scope() as session:
        has_changed = repository.request_cancel(session, owner_id, selection_id)
        selection = get(session, owner_id, selection_id)
        shown = present(selection)
    if shown.status in {Status.SUCCEEDED, Status.FAILED}:
        raise AlreadyFinished(f"the selection has {shown.status.value}; there is nothing to cancel")
    return shown, has_changed


def retry(services: Services, owner_id: str, selection_id: str) -> SelectionOut:
    """Queue a failed selection again. The caller enqueues it.

    Raises:
        NotFailed: the selection has not failed.
        TooManySelections: the owner has too many selections under way.
    """
    with services.database.session_scope() as session:
        hold_quota(session, owner_id, services.settings)
        retried = _found(retry_failed(session, owner_id, selection_id))
        if not retried.has_changed:
            status = Status(retried.selection.status)
            again = _say_again(selection_id, status)
            raise NotFailed(f"the selection is {status.value}; only a failed selection can be retried{again}")
        return present(retried.selection)


def resume(services: Services, owner_id: str, selection_id: str) -> tuple[SelectionOut, bool]:
    """Queue a cancelled selection again. The flag is True if this call did so; the caller then enqueues it.

    Raises:
        NotCancelled: the selection is neither cancelled nor under way.
        TooManySelections: the owner has too many selections under way.
    """
    with services.database.session_scope() as session:
        hold_quota(session, owner_id, services.settings)
        retried = _found(resume_cancelled(session, owner_id, selection_id))
        shown = present(retried.selection)
    if not retried.has_changed and shown.status not in {Status.QUEUED, Status.RUNNING}:
        again = _say_again(selection_id, shown.status)
        raise NotCancelled(f"the selection is {shown.status}; only a cancelled selection can be resumed{again}")
    return shown, retried.has_changed


def delete(session: Session, owner_id: str, selection_id: str) -> None:
    """Delete an ended selection and those of its datasets that no other selection uses.

    Raises:
        StillRunning: the selection has not ended.
    """
    selection = get(session, owner_id, selection_id)
    datasets = [id_ for id_ in (selection.dataset_id, selection.test_dataset_id) if id_ is not None]
    if not repository.delete_selection(session, owner_id, selection_id):
        raise StillRunning(f"the selection is {selection.status}; cancel the selection and wait until it has ended")
    delete_unused_datasets(session, owner_id, datasets)


def _found(value: _Found | None) -> _Found:
    if value is None:
        raise NotFound("there is no selection with this id")
    return value
