"""Turns rows of jobs into wire types."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Row

from app.jobs.schemas import ProgressOut, QueueOut
from app.store.states import TERMINAL, Status
from app.store.tables import Job


def read_columns(job: Job | Row[Any], names: Mapping[str, Any], queue: QueueOut | None = None) -> dict[str, Any]:
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
