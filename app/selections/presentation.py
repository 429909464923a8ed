"""Turns database rows into wire types."""

from app.models import Selection
from app.selections.schemas import ProgressOut, SelectionOut, SpecOut
from app.selections.spec import StoredSpec

_COPIED = (
    *("id", "name", "status", "dataset_id", "test_dataset_id", "warnings", "attempt"),
    *("partial", "stop_reason", "error", "digest", "created_at", "queued_at", "started_at"),
    *("cancel_requested_at", "cancelled_at", "succeeded_at", "failed_at"),
)


def present(selection: Selection) -> SelectionOut:
    """Build the API's view of a selection."""
    return SelectionOut(
        spec=present_spec(StoredSpec.model_validate(selection.spec)),
        progress=None if selection.progress is None else ProgressOut.model_validate(selection.progress),
        **{name: getattr(selection, name) for name in _COPIED},
    )


def present_spec(spec: StoredSpec) -> SpecOut:
    return SpecOut(
        template=spec.template,
        verbalizer=dict(spec.verbalizer),
        separator=spec.separator,
        model=spec.model,
        preset=spec.preset,
        config=spec.config,
    )
