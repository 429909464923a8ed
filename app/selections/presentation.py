"""Turns rows of selections and their results into wire types."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from app.selections import repository
from app.selections.schemas import ProgressOut, QueueOut, ResultOut, SelectionOut, SelectionSummary
from app.store.pools import read_pool
from app.store.states import TERMINAL, Status
from app.store.tables import Job, Report, StoredPool


def present(job: Job, queue: QueueOut | None = None) -> SelectionOut:
    """Build the API's view of a selection. `queue`: its place, if it was asked for."""
    return SelectionOut.model_validate(_read_columns(job, SelectionOut.model_fields, queue))


def summarise(job: Row[Any]) -> SelectionSummary:
    """Build the API's view of a selection in a list."""
    return SelectionSummary.model_validate(_read_columns(job, SelectionSummary.model_fields))


def _read_columns(job: Job | Row[Any], names: Mapping[str, Any], queue: QueueOut | None = None) -> dict[str, Any]:
    """The fields of a wire type that are columns, with the progress and the place in the queue as clients see them."""
    values = {name: getattr(job, name) for name in names if hasattr(job, name)}
    return {**values, "progress": present_progress(job), "queue": queue}


def present_progress(job: Job | Row[Any]) -> ProgressOut | None:
    """Build the API's view of the progress. A run seldom needs all pairs of its plan: what was scored is the total.

    A stopped run keeps its place, and has no time left.
    """
    if job.progress is None:
        return None
    progress = ProgressOut.model_validate(job.progress)
    if job.status == Status.SUCCEEDED:
        done = {"step": progress.steps, "pairs_total": progress.pairs_done, "tokens_total": progress.tokens_done}
        return progress.model_copy(update={**done, "eta_seconds": 0.0})
    return progress.model_copy(update={"eta_seconds": None}) if job.status in TERMINAL else progress


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
