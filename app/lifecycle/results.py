"""How a result comes into the database: that of a run, and the best so far of a run that was cancelled."""

import logging
from typing import Any

from pydantic import ValidationError
from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.orm import Session

from app.lifecycle.states import Status
from app.models import Dataset, Event, Report, Selection, StoredCheckpoint, StoredClassifier
from lens_engine.classifier.classifier import Classifier
from lens_engine.result import SelectionResult
from lens_engine.types import StopReason

_log = logging.getLogger(__name__)


def store_result(session: Session, selection_id: str, result: SelectionResult) -> dict[str, Any]:
    """Store report and classifier. Returns the columns of the selection that describe the result.

    The row of the selection must be locked.
    """
    report = result.model_dump(mode="json", exclude={"classifier"})  # it has a table of its own
    session.execute(insert(Report).values(selection_id=selection_id, result=report))
    if result.classifier is not None:
        _store_classifier(session, selection_id, result.classifier)
    return {
        "partial": result.partial,
        "stop_reason": result.stop_reason.value,
        "digest": result.digest,
        "dtype": result.provenance.dtype,
        "provenance": result.provenance.model_dump(mode="json"),
    }


def end_cancelled(session: Session, selection_id: str) -> None:
    """End a selection as cancelled, with the best so far of its checkpoint as its result.

    The checkpoint stays, because the selection may be resumed. The row of the selection must be locked, and its status
    must not be a final one.
    """
    best = read_best(session, selection_id)
    described: dict[str, Any] = {"stop_reason": StopReason.CANCELLED.value, "partial": False}
    if best is not None:
        described = store_result(session, selection_id, best)
    ending = update(Selection).where(Selection.id == selection_id)
    session.execute(
        ending.values(status=Status.CANCELLED, lease_until=None, cancelled_at=func.now(), **described),
        execution_options={"synchronize_session": False},
    )


def delete_checkpoint(session: Session, selection_id: str) -> None:
    session.execute(delete(StoredCheckpoint).where(StoredCheckpoint.selection_id == selection_id))


def read_best(session: Session, selection_id: str) -> SelectionResult | None:
    """The best so far of the checkpoint.

    None without a checkpoint, before any examples were chosen, and for a form that this release does not know.
    """
    best = session.scalar(select(StoredCheckpoint.best).where(StoredCheckpoint.selection_id == selection_id))
    if best is None:
        return None
    try:
        return SelectionResult.model_validate(best)
    except ValidationError:
        _log.warning(
            "%s ends without its best so far, which another release stored in another form",
            selection_id,
            extra={"action": "best-unreadable", "selection_id": selection_id},
        )
        return None


def _store_classifier(session: Session, selection_id: str, classifier: Classifier) -> None:
    of_dataset = select(Dataset.input).join(Selection, Selection.dataset_id == Dataset.id)
    known = session.scalar(of_dataset.where(Selection.id == selection_id))
    stored = {**classifier.model_dump(mode="json"), "input": known}
    session.execute(insert(StoredClassifier).values(selection_id=selection_id, classifier=stored))
    event = {
        "size": len(classifier.prompts),
        "head": classifier.head.kind,
        "accuracy": None if classifier.test is None else classifier.test.accuracy,
    }
    session.execute(insert(Event).values(selection_id=selection_id, type="classifier", data=event))
