"""How an outcome comes into the database: that of a run, and the best so far of a job that was cancelled."""

import logging
from typing import Any

from pydantic import ValidationError
from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.orm import Session

from app.store.prompts import delete_pool, delete_pool_without_result, pack_pool, read_pool, store_pool
from app.store.tables import Dataset, Event, Job, Report, Status, StoredCheckpoint, StoredClassifier
from lens_engine.classifier.classifier import Classifier, InputFormat
from lens_engine.result import SelectionResult
from lens_engine.result.selection_result import list_headlines
from lens_engine.types import StopReason

_log = logging.getLogger(__name__)


def store_result(session: Session, job_id: str, result: SelectionResult) -> dict[str, Any]:
    """Store report, classifier and pool, and return the columns of the job that describe them.

    The row of the job is locked. The event of the classifier comes before that of the end.
    """
    report = result.model_dump(mode="json", exclude={"classifier", "pool"})  # they have tables of their own
    session.execute(insert(Report).values(job_id=job_id, result=report))
    if result.classifier is not None:
        _store_classifier(session, job_id, result.classifier)
    if result.pool is not None:
        store_pool(session, job_id, pack_pool(result.pool))
    elif result.stop_reason is not StopReason.CANCELLED:  # whose checkpoint may name one
        delete_pool(session, job_id)
    return {
        "partial": result.partial,
        "digest": result.digest,
        "figures": [one.model_dump(mode="json") for one in list_headlines(result)],
        "dtype": result.provenance.dtype,
        "provenance": result.provenance.model_dump(mode="json"),
    }


def end_cancelled(session: Session, job_id: str) -> None:
    """End a job as cancelled, with the best so far of its checkpoint as its result.

    The checkpoint stays, because the job may be resumed. The row of the job must be locked, and its status must not be
    a final one.
    """
    best = read_best(session, job_id)
    described: dict[str, Any] = {"stop_reason": StopReason.CANCELLED.value, "partial": None}
    if best is not None:
        described |= store_result(session, job_id, best)
    ending = update(Job).where(Job.id == job_id)
    session.execute(
        ending.values(status=Status.CANCELLED, lease_until=None, cancelled_at=func.now(), **described),
        execution_options={"synchronize_session": False},
    )


def delete_checkpoint(session: Session, job_id: str) -> None:
    """Delete the checkpoint, with the pool of its best so far where no result names it."""
    session.execute(delete(StoredCheckpoint).where(StoredCheckpoint.job_id == job_id))
    delete_pool_without_result(session, job_id)


def read_best(session: Session, job_id: str) -> SelectionResult | None:
    """The best so far of the checkpoint.

    None without a checkpoint, before any examples were chosen, and if it cannot be read.
    """
    best = session.scalar(select(StoredCheckpoint.best).where(StoredCheckpoint.job_id == job_id))
    if best is None:
        return None
    try:
        result = SelectionResult.model_validate(best)
    except ValidationError:
        _log.warning(
            "%s ends without its best so far, which cannot be read",
            job_id,
            extra={"action": "best-unreadable", "job_id": job_id},
        )
        return None
    finds = any(one.form.nearest for one in result.support_examples)
    return result.model_copy(update={"pool": read_pool(session, job_id)}) if finds else result


def _store_classifier(session: Session, job_id: str, classifier: Classifier) -> None:
    of_dataset = select(Dataset.input).join(Job, Job.dataset_id == Dataset.id)
    known = session.scalar(of_dataset.where(Job.id == job_id))
    of_texts = known and {name: known[name] for name in InputFormat.model_fields}
    stored = {**classifier.model_dump(mode="json"), "input": of_texts}
    session.execute(insert(StoredClassifier).values(job_id=job_id, classifier=stored))
    event = {
        "head": classifier.head.kind,
        "accuracy": None if classifier.quality is None else classifier.quality.accuracy,
    }
    session.execute(insert(Event).values(job_id=job_id, type="classifier", data=event))
