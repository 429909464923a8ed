"""Turns database rows into wire types."""

from app.models import Selection
from app.selections.schemas import ProgressOut, SelectionOut, SpecOut
from app.selections.spec import StoredSpec
from app.selections.states import TERMINAL, Status
from lens_engine.classifier.artefact import LabelWord, TaskRecord

_COPIED = (
    *("id", "name", "status", "dataset_id", "test_dataset_id", "warnings", "attempt"),
    *("partial", "stop_reason", "error", "digest", "created_at", "queued_at", "started_at"),
    *("cancel_requested_at", "cancelled_at", "succeeded_at", "failed_at"),
)


def present(selection: Selection) -> SelectionOut:
    """Build the API's view of a selection."""
    return SelectionOut(
        spec=present_spec(StoredSpec.model_validate(selection.spec)),
        progress=present_progress(selection),
        **{name: getattr(selection, name) for name in _COPIED},
    )


def present_progress(selection: Selection) -> ProgressOut | None:
    """Build the API's view of the progress. A run seldom needs all pairs of its plan: what was scored is the total.

    A stopped run keeps its place, and has no time left.
    """
    if selection.progress is None:
        return None
    progress = ProgressOut.model_validate(selection.progress)
    status = Status(selection.status)
    if status is Status.SUCCEEDED:
        totals = {"step": progress.steps, "pairs_total": progress.pairs_done, "tokens_total": progress.tokens_done}
        return progress.model_copy(update={**totals, "eta_seconds": 0.0})
    return progress.model_copy(update={"eta_seconds": None}) if status in TERMINAL else progress


def present_label_words(selection: Selection) -> tuple[LabelWord, ...]:
    return TaskRecord.of(StoredSpec.model_validate(selection.spec).task).label_words


def present_spec(spec: StoredSpec) -> SpecOut:
    return SpecOut(
        template=spec.template,
        verbalizer=dict(spec.verbalizer),
        separator=spec.separator,
        model=spec.model,
        preset=spec.preset,
        config=spec.config,
    )
