"""What clients see of a selection, and when to ask again."""

import json
import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from app.selections.schemas import ProgressOut, QueueOut, SelectionOut, SelectionSummary
from app.settings import Settings
from app.store.states import TERMINAL, Status
from app.store.tables import Job

_LONGEST_WAIT = 30
_SHARE_OF_ETA = 10
"""A client that waits a tenth of the remaining time learns of the end a tenth too late at most."""


@dataclass(frozen=True, slots=True)
class JobState:
    """All columns of a job that change and that clients see. The others never change, or change with these."""

    id: str
    status: str
    attempt: int
    progress: dict[str, Any] | None
    queued_at: datetime
    started_at: datetime | None
    cancel_requested_at: datetime | None
    cancelled_at: datetime | None
    succeeded_at: datetime | None
    failed_at: datetime | None

    @classmethod
    def of(cls, job: Job) -> "JobState":
        return cls(*(getattr(job, name) for name in cls.__slots__))

    @property
    def version(self) -> str:
        """Text that differs whenever the view of the job differs."""
        return json.dumps(astuple(self), default=str, sort_keys=True)


def retry_after(settings: Settings, status: str, progress: dict[str, Any] | None) -> dict[str, str]:
    """Build the header Retry-After of a job that has not ended: a tenth of the expected time, at most 30 s."""
    if Status(status) in TERMINAL:
        return {}
    shortest = settings.retry_after_seconds
    eta = (progress or {}).get("eta_seconds") if status == Status.RUNNING else None
    if not isinstance(eta, int | float) or not math.isfinite(eta):
        return {"Retry-After": str(shortest)}
    return {"Retry-After": str(max(shortest, min(_LONGEST_WAIT, math.ceil(eta / _SHARE_OF_ETA))))}


def present(job: Job, queue: QueueOut | None = None) -> SelectionOut:
    """Build the API's view of a selection. `queue`: its place, if it was asked for."""
    return SelectionOut.model_validate({**_read_columns(job, SelectionOut.model_fields), "queue": queue})


def summarise(job: Row[Any]) -> SelectionSummary:
    """Build the API's view of a selection in a list."""
    return SelectionSummary.model_validate(_read_columns(job, SelectionSummary.model_fields))


def _read_columns(job: Job | Row[Any], names: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a wire type that are columns, with the progress as clients see it."""
    return {**{name: getattr(job, name) for name in names if hasattr(job, name)}, "progress": present_progress(job)}


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
