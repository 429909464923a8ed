"""Turns results of selections into wire types."""

from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.selections.schemas import ResultOut
from app.store.pools import read_pool
from app.store.tables import Report, StoredClassifier, StoredPool
from lens_engine.retrieval.pool import Pool


class ShownPool(NamedTuple):
    """What a result says of its pool; no rows if nobody asked for them."""

    num_rows: int
    pool: Pool | None


def find_shown_pool(session: Session, selection_id: str, *, has_rows: bool) -> ShownPool | None:
    """The pool of a result; None if it has none."""
    num_rows = session.scalar(select(StoredPool.num_rows).where(StoredPool.job_id == selection_id))
    if num_rows is None:
        return None
    return ShownPool(num_rows, read_pool(session, selection_id) if has_rows else None)


def present_result(report: Report, classifier: StoredClassifier | None, pool: ShownPool | None) -> ResultOut:
    """Build the API's view of a result."""
    parts = {
        "classifier": classifier and classifier.classifier,
        "selection_id": report.job_id,
        "pool_rows": pool and pool.num_rows,
        "pool": pool and pool.pool,
    }
    return ResultOut.model_validate(report.result | parts)
