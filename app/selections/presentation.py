"""Turns results of selections into wire types."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.jobs import repository
from app.selections.schemas import ResultOut
from app.store.pools import read_pool
from app.store.tables import Report, StoredPool


def present_result(session: Session, report: Report, *, has_pool: bool) -> ResultOut:
    """Build the API's view of a result. `has_pool`: whether with the rows of its pool."""
    selection_id = report.job_id
    stored = repository.find_classifier(session, selection_id)
    parts = {
        "classifier": stored and stored.classifier,
        "selection_id": selection_id,
        "pool_rows": session.scalar(select(StoredPool.num_rows).where(StoredPool.job_id == selection_id)),
        "pool": read_pool(session, selection_id) if has_pool else None,
    }
    return ResultOut.model_validate(report.result | parts)
