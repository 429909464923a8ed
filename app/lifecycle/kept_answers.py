"""The answers of evaluations and predictions, kept under a claim while the job runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, func, select, update
from sqlalchemy.dialects.postgresql import insert as insert_or_not
from sqlalchemy.orm import Session

from app.lifecycle.claims import Claim, is_held, lock, record_event
from app.store.tables import Job, StoredPrediction
from lens_engine.errors import CheckpointForeign
from lens_engine.evaluation.rows import Prediction, pack_probabilities


@dataclass(frozen=True, slots=True)
class Earlier:
    """What earlier attempts left: the number of rows that have an answer, and what was paid (USD)."""

    num_rows: int = 0
    paid_usd: float = 0.0


def keep_predictions(
    session: Session, claim: Claim, start: int, predictions: Sequence[Prediction], paid_usd: float = 0.0
) -> bool:
    """Keep the answers for the rows from the place `start` on. Returns False if the claim is lost.

    A repetition, after a commit whose confirmation was lost, changes nothing.

    Args:
        paid_usd: what all requests of the job cost so far (USD).
    """
    if not lock(session, claim):
        return False
    values = [
        {
            "job_id": claim.job_id,
            "place": place,
            "label": one.label,
            "probabilities": pack_probabilities(one.probabilities),
            "error": one.error,
            "is_cut": one.is_cut,
        }
        for place, one in enumerate(predictions, start)
    ]
    session.execute(insert_or_not(StoredPrediction).on_conflict_do_nothing(), values)
    if paid_usd:
        note_payment(session, claim, paid_usd)
    return True


def note_payment(session: Session, claim: Claim, paid_usd: float) -> None:
    """Note what all requests of the job cost so far (USD). Writes nothing if the claim is lost."""
    session.execute(update(Job).where(is_held(claim)).values(paid_usd=paid_usd))


def take_up_rows(session: Session, claim: Claim, model: Mapping[str, Any] | None) -> Earlier:
    """What earlier attempts left, if it is of this model: name, revision, number format and device.

    Answers of another are deleted, with an event. Writes nothing if the claim is lost.
    """
    job = session.scalar(select(Job).where(is_held(claim)).with_for_update())
    if job is None:
        return Earlier()
    own = StoredPrediction.job_id == claim.job_id
    num_rows = session.scalar(select(func.count()).select_from(StoredPrediction).where(own)) or 0
    if num_rows and job.provenance != model:
        session.execute(delete(StoredPrediction).where(own))
        detail = "the rows that were done had been asked of another model, number format or device; all are asked again"
        record_event(session, claim, CheckpointForeign.code, {"detail": detail})
        num_rows = 0
    job.provenance = None if model is None else dict(model)
    return Earlier(num_rows, job.paid_usd)
