"""Turns rows of jobs into wire types.

Another release may have stored a row. So the spec and the progress are shown as they are stored, and are not validated.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Row

from app.jobs.schemas import ProgressOut, QueueOut
from app.lifecycle.states import TERMINAL, Status
from app.models import Job

_DONE = {"step": "steps", "pairs_total": "pairs_done", "tokens_total": "tokens_done"}
"""What each figure of the progress is after a success."""


def read_columns(job: Job | Row[Any], names: Mapping[str, Any], queue: QueueOut | None = None) -> dict[str, Any]:
    """The fields of a wire type that are columns, with the progress and the place in the queue as clients see them."""
    values = {name: getattr(job, name) for name in names if hasattr(job, name)}
    return {**values, "progress": present_progress(job), "queue": queue}


def present_progress(job: Job | Row[Any]) -> dict[str, Any] | None:
    """Build the API's view of the progress. A run seldom needs all pairs of its plan: what was scored is the total.

    A stopped run keeps its place, and has no time left.
    """
    if job.progress is None:
        return None
    progress = in_order(job.progress, dict.fromkeys(ProgressOut.model_fields))
    if job.status == Status.SUCCEEDED:
        totals = {name: progress[done] for name, done in _DONE.items() if done in progress}
        return {**progress, **totals, "eta_seconds": 0.0}
    return {**progress, "eta_seconds": None} if job.status in TERMINAL else progress


def in_order(stored: dict[str, Any], pattern: dict[str, Any]) -> dict[str, Any]:
    """Give the keys the order of the pattern, which JSONB loses. Keys that the pattern lacks come last."""
    names = [*(name for name in pattern if name in stored), *(name for name in stored if name not in pattern)]
    return {name: _order_value(stored[name], pattern.get(name)) for name in names}


def _order_value(value: Any, pattern: Any) -> Any:
    return in_order(value, pattern) if isinstance(value, dict) and isinstance(pattern, dict) else value
