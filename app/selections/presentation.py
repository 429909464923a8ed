"""Turns rows of selections into wire types.

Another release may have stored a row. So the spec is shown as it is stored, and is not validated.
"""

from functools import cache
from typing import Any, NamedTuple

from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.jobs.presentation import in_order, read_columns
from app.jobs.schemas import QueueOut
from app.lifecycle.pools import read_pool
from app.models import Job, Report, StoredClassifier, StoredPool
from app.selections.schemas import ResultOut, SelectionOut, SpecOut
from lens_engine.config import SelectionConfig
from lens_engine.retrieval.pool import Pool


def present(selection: Job, queue: QueueOut | None = None) -> SelectionOut:
    """Build the API's view of a selection. `queue`: its place, if it was asked for."""
    values = read_columns(selection, SelectionOut.model_fields, queue)
    return SelectionOut.model_validate({**values, "spec": present_spec(selection.spec)})


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


def present_result(
    report: Report, classifier: StoredClassifier | None, pool: ShownPool | None
) -> ResultOut | dict[str, Any]:
    """Build the API's view of a result. One that this release cannot read is shown as it is stored."""
    own = None if classifier is None else classifier.classifier
    about = {"classifier": own, "selection_id": report.job_id, "pool_rows": pool and pool.num_rows}
    stored, rows = {**report.result, **about}, pool and pool.pool
    try:
        return ResultOut.model_validate({**stored, "pool": rows})
    except ValidationError:
        return stored if rows is None else {**stored, "pool": rows.model_dump(mode="json")}


def present_spec(stored: dict[str, Any]) -> dict[str, Any]:
    """Build the API's view of a stored spec: the verbalizer is an object."""
    return in_order({**stored, "verbalizer": dict(stored["verbalizer"])}, _order_of_a_spec())


@cache
def _order_of_a_spec() -> dict[str, Any]:
    return {**dict.fromkeys(SpecOut.model_fields), "config": SelectionConfig().model_dump()}
