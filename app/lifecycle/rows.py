"""The answers of evaluations and predictions, row by row: how they are kept while the run goes on, and read again."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import delete, func, insert, select
from sqlalchemy.dialects.postgresql import insert as insert_or_not
from sqlalchemy.orm import Session

from app.database import Database
from app.lifecycle.claims import Claim, is_held, lock, record_event
from app.models import Example as StoredRow
from app.models import Job, StoredPrediction
from lens_engine.errors import CheckpointForeign
from lens_engine.predicting.rows import Prediction
from lens_engine.reading import TextRow

_ROWS_A_PAGE = 2000


def keep_predictions(session: Session, claim: Claim, start: int, predictions: Sequence[Prediction]) -> bool:
    """Keep the answers for the rows from the place `start` on. Returns False if the claim is lost.

    A repetition, after a commit whose confirmation was lost, changes nothing.
    """
    if not lock(session, claim):
        return False
    values = [
        {
            "job_id": claim.job_id,
            "place": place,
            "label": one.label,
            "probabilities": list(one.probabilities),
            "error": one.error,
            "is_cut": one.is_cut,
        }
        for place, one in enumerate(predictions, start)
    ]
    session.execute(insert_or_not(StoredPrediction).on_conflict_do_nothing(), values)
    return True


def take_up_rows(session: Session, claim: Claim, model: Mapping[str, Any] | None) -> list[Prediction]:
    """The answers of earlier attempts, in order, if they are of this model: name, revision, number format and device.

    Those of another are deleted, with an event. Writes nothing if the claim is lost.
    """
    job = session.scalar(select(Job).where(is_held(claim)).with_for_update())
    if job is None:
        return []
    found = read_predictions(session, claim.job_id)
    if found and job.provenance != model:
        session.execute(delete(StoredPrediction).where(StoredPrediction.job_id == claim.job_id))
        detail = "the rows that were done had been asked of another model, number format or device; all are asked again"
        record_event(session, claim, CheckpointForeign.code, {"detail": detail})
        found = []
    job.provenance = None if model is None else dict(model)
    return found


def read_predictions(session: Session, job_id: str) -> list[Prediction]:
    """The answers that are kept, in order."""
    own = select(StoredPrediction).where(StoredPrediction.job_id == job_id)
    return [_to_prediction(row) for row in session.scalars(own.order_by(StoredPrediction.place))]


def insert_texts(session: Session, dataset_id: str, rows: Sequence[TextRow]) -> None:
    """Store the rows of a file of texts."""
    for start in range(0, len(rows), _ROWS_A_PAGE):
        values = [
            {"dataset_id": dataset_id, "row": row, "text": one.text, "cells": dict(one.cells), "fault": one.fault}
            for row, one in enumerate(rows[start : start + _ROWS_A_PAGE], start)
        ]
        session.execute(insert(StoredRow), values)


def read_texts(session: Session, dataset_id: str) -> list[TextRow]:
    """All rows of a dataset as texts to classify, in order."""
    query = select(StoredRow.text, StoredRow.fault, StoredRow.cells).where(StoredRow.dataset_id == dataset_id)
    found = session.execute(query.order_by(StoredRow.row))
    return [TextRow(content, fault, cells or {}) for content, fault, cells in found]


def read_answered(database: Database, dataset_id: str, job_id: str) -> Iterator[tuple[TextRow, Prediction]]:
    """The rows of an ended prediction with their answers, in order.

    Each page is read in a transaction of its own, because a client may take long between two.

    Raises:
        LookupError: the prediction was deleted meanwhile.
    """
    query = select(StoredRow, StoredPrediction).where(
        StoredRow.dataset_id == dataset_id,
        StoredPrediction.job_id == job_id,
        StoredPrediction.place == StoredRow.row,
    )
    last_place = select(func.max(StoredPrediction.place)).where(StoredPrediction.job_id == job_id)
    after, last = -1, None
    while True:
        with database.session_scope() as session:
            last = session.scalar(last_place) if last is None else last
            page = session.execute(query.where(StoredRow.row > after).order_by(StoredRow.row).limit(_ROWS_A_PAGE)).all()
        for row, found in page:
            yield TextRow(row.text, row.fault, row.cells or {}), _to_prediction(found)
        after = page[-1][0].row if page else after
        if after == last:
            return
        if not page:
            raise LookupError(f"{job_id} was deleted while its output was read")


def _to_prediction(row: StoredPrediction) -> Prediction:
    return Prediction(label=row.label, probabilities=tuple(row.probabilities), error=row.error, is_cut=row.is_cut)
