"""Wire types of selections: what clients see of a job and of what it found, and when to ask again."""

import json
import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from sqlalchemy import Row

from app.settings import Settings
from app.store.tables import TERMINAL, Job, Status
from app.web.validation import Outgoing
from lens_engine.classifier.candidates import SuspiciousLabel
from lens_engine.config import PresetName, SelectionConfig
from lens_engine.result import SelectionResult
from lens_engine.types import Phase, StopReason


class SpecOut(Outgoing):
    """The spec with every option resolved."""

    template: str | list[str] = Field(
        description="Prompt with one `{text}` followed by one `{label}`; a list if the run chooses among several."
    )
    verbalizer: Annotated[dict[str, str], BeforeValidator(dict)] = Field(description="Label word of each label.")
    separator: str = Field(description="Text that ends each demonstration.")
    instruction: str | list[str] = Field(
        description="Text that stands once before the demonstrations, empty for none; a list if the run chooses among "
        "several."
    )
    model: str = Field(description="Name of the model.")
    preset: PresetName = Field(description="Preset to which `options` were applied.")
    config: SelectionConfig = Field(description="Value of every option: the preset, overridden by `options`.")


class ProgressOut(Outgoing):
    """Progress of a run. A pair is one prefix (the demonstrations) and one query scored."""

    phase: Phase = Field(
        description="Phase of the run. filter: candidates are filtered by InfoScore. search: the beam looks for better "
        "permutations. judge: every way to answer is judged on the judging rows. test: what was chosen answers the "
        "test rows."
    )
    step: int = Field(description="Number of the current step of the phase, counted from 1.")
    steps: int = Field(description="Number of steps of the phase.")
    pairs_done: int = Field(description="Number of pairs scored so far, over all phases.")
    pairs_total: int = Field(description="Most pairs of the run by now; at the end, the number of pairs scored.")
    tokens_done: int = Field(description="Number of tokens scored so far, over all phases.")
    tokens_total: int = Field(description="Most tokens of the run by now; at the end, the number of tokens scored.")
    tokens_per_second: float | None = Field(description="Speed of this attempt (tokens per second); null at first.")
    eta_seconds: float | None = Field(
        description="Expected remaining time (seconds). 0 after success; null while unknown, and after a stop."
    )
    expected_accuracy: float | None = Field(
        description="Accuracy that is expected on new texts by now; it may fall. Null while LENS searches."
    )
    survivors: int | None = Field(None, description="Number of candidates that the rounds of filtering have kept.")
    largest_class: float | None = Field(
        None, description="Share of the largest class among the judging rows: the accuracy of always answering it."
    )
    cut_off: Phase | None = Field(None, description="Phase that a limit or a stop ended early.")


class QueueOut(Outgoing):
    """The place of a queued job, and who works on the queue."""

    position: int | None = Field(
        description="Place among the queued jobs of all owners that may start and that the same workers take; 1 is the "
        "next. Null while the job waits after a crash or a fault of a worker or a server.",
        examples=[3],
    )
    workers: int | None = Field(
        description="Number of living workers that take such jobs, some seconds old. With 0, the job waits until the "
        "operator starts a worker. A worker that was killed counts for up to two minutes. Null if it is not known.",
        examples=[2],
    )


class SelectionSummary(Outgoing):
    """A selection in a list: its state, and the time of each state that it reached."""

    id: str = Field(description="Id.")
    name: str | None = Field(description="Display name.")
    status: Status = Field(description="Status.")
    dataset_id: str = Field(description="Id of the dataset; a later submission can name it instead of sending rows.")
    test_dataset_id: str | None = Field(description="Id of the test rows; null if there are none.")
    progress: ProgressOut | None = Field(description="Progress of the run; null before the first report.")
    partial: bool | None = Field(
        description="True if the run was stopped and the result is the best found until then; its `verdict` says what "
        "to do. Null without a result."
    )
    attempt: int = Field(description="Number of times a worker started or resumed the run.")
    stop_reason: StopReason | None = Field(
        description="Why the run ended; null without a result. completed: the run did all its work. budget: `budget` "
        "was spent. cancelled: it was cancelled."
    )
    error: dict[str, Any] | None = Field(description="Problem (RFC 9457) of a failed run; in a list without `errors`.")
    digest: str | None = Field(
        description="SHA-256 of the result without its cost, the name of the GPU and the note on the executor; equal "
        "runs have equal digests."
    )
    created_at: datetime = Field(description="Time of the submission.")
    queued_at: datetime = Field(description="Time at which it last began to wait for a worker.")
    started_at: datetime | None = Field(description="Time at which a worker first took it.")
    cancel_requested_at: datetime | None = Field(description="Time of the request to cancel.")
    cancelled_at: datetime | None = Field(description="Time at which it was cancelled; null again after a resume.")
    succeeded_at: datetime | None = Field(description="Time at which it succeeded.")
    failed_at: datetime | None = Field(description="Time at which it failed; null again after a resume.")


class SelectionOut(SelectionSummary):
    """A selection with its spec."""

    spec: SpecOut = Field(description="The spec with every option resolved.")

    warnings: list[str] = Field(
        description="Warnings about accepted but unusual content of the dataset and the test rows, about few rows, "
        "and what was taken by default for the spec. A warning about the content of one upload begins with `dataset:` "
        "or `test:`, one about the spec with `spec:`.",
        examples=[["dataset: 2 blank rows were skipped and are not counted in row numbers"]],
    )
    queue: QueueOut | None = Field(
        None, description="Place in the queue. Only GET of one job has it, while `status` is `queued`."
    )


class SelectionPage(Outgoing):
    """One page of selections, newest first."""

    items: list[SelectionSummary] = Field(description="Selections, newest first; GET of one has its spec.")
    next: str | None = Field(description="Cursor of the next page; null on the last page.")


class EventOut(Outgoing):
    """An event in the history of a job. Ids increase with time."""

    id: int = Field(description="Number of the event.")
    at: datetime = Field(description="Time of the event.")
    type: str = Field(
        description="Kind of event. status, phase: the status or the phase changed. classifier: the classifier was "
        "stored. progress: a step of a selection ended. checkpoint-damaged, checkpoint-foreign: a worker dropped the "
        "checkpoint and started afresh. "
        "model-moved: the operator moved the model behind a server, or back, and its workers take the job. "
        "endpoint-away: the server of the model does not answer, and the job waits. "
        "checkpoint-unwritten: a checkpoint could not be stored, and the run continues. "
        "worker-unfit: an attempt ended by a fault of its worker. stalled: an attempt made no progress and was ended. "
        "resumed: the owner had the cancelled or failed job queued again.",
        examples=["status"],
    )
    data: dict[str, Any] = Field(
        description="status, phase: `from`, `to` and `attempt`. classifier: `head` and `accuracy` (on the test rows, "
        "or else by cross-validation). progress: `pairs_done` and what `progress` of the selection said then. "
        "checkpoint-damaged, checkpoint-foreign, checkpoint-unwritten, model-moved, endpoint-away: `detail`. "
        "worker-unfit: `code` (what is wrong with the worker) and `attempt`. "
        "stalled: `seconds` (without progress) and `attempt`. "
        "resumed: `error` (why it had failed), `from_checkpoint` (whether the run goes on where it was), "
        "`result_deleted` (whether it had a partial result) and `attempt`.",
        examples=[{"from": "queued", "to": "running", "attempt": 1}],
    )


class EventPage(Outgoing):
    """One page of events, oldest first."""

    items: list[EventOut] = Field(description="Events, oldest first.")
    next: str | None = Field(description="Cursor of the next page; null on the last page.")


class ResultOut(SelectionResult):
    """The result of a selection, and the id of the selection."""

    selection_id: str = Field(description="Id of the selection.")
    pool_rows: int | None = Field(
        description="Number of rows of `pool`, which is left out unless it is asked for; null where no prompt finds "
        "examples for an input."
    )


class SuspiciousLabelOut(SuspiciousLabel):
    """A row whose label the classifier contradicts with confidence, and its text."""

    text: str = Field(description="Text of the row.")


class SuspiciousLabelsOut(Outgoing):
    """Rows whose label may be wrong."""

    selection_id: str = Field(description="Id of the selection.")
    items: list[SuspiciousLabelOut] = Field(
        description="At most 200 rows, the most suspicious first. Only rows on which the classifier was "
        "cross-validated are judged."
    )


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
