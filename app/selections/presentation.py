"""Turns database rows into wire types.

Another release may have stored a row. So the spec and the progress are shown as they are stored, and are not validated.
"""

from functools import cache
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Row

from app.lifecycle.states import TERMINAL, Status
from app.models import Report, Selection, StoredClassifier
from app.selections.schemas import (
    ProgressOut,
    QueueOut,
    ResultOut,
    SelectionOut,
    SelectionSummary,
    SpecOut,
)
from lens_engine.config import SelectionConfig

_COPIED = SelectionOut.model_fields.keys() - {"spec", "progress", "queue"}
_DONE = {"step": "steps", "pairs_total": "pairs_done", "tokens_total": "tokens_done"}
"""What each figure of the progress is after a success."""


def present(selection: Selection, queue: QueueOut | None = None) -> SelectionOut:
    """Build the API's view of a selection. `queue`: its place, if it was asked for."""
    values = {name: getattr(selection, name) for name in _COPIED}
    return SelectionOut.model_validate(
        {**values, "spec": present_spec(selection.spec), "progress": present_progress(selection), "queue": queue}
    )


def present_summary(selection: Row[Any]) -> SelectionSummary:
    """Build the API's view of a selection of which the summary's columns were read."""
    values = {name: getattr(selection, name) for name in SelectionSummary.model_fields}
    return SelectionSummary.model_validate({**values, "progress": present_progress(selection)})


def present_progress(selection: Selection | Row[Any]) -> dict[str, Any] | None:
    """Build the API's view of the progress. A run seldom needs all pairs of its plan: what was scored is the total.

    A stopped run keeps its place, and has no time left.
    """
    if selection.progress is None:
        return None
    progress = _in_order(selection.progress, dict.fromkeys(ProgressOut.model_fields))
    if selection.status == Status.SUCCEEDED:
        totals = {name: progress[done] for name, done in _DONE.items() if done in progress}
        return {**progress, **totals, "eta_seconds": 0.0}
    return {**progress, "eta_seconds": None} if selection.status in TERMINAL else progress


def present_result(report: Report, classifier: StoredClassifier | None) -> ResultOut | dict[str, Any]:
    """Build the API's view of a result. One that this release cannot read is shown as it is stored."""
    own = None if classifier is None else classifier.classifier
    stored = {**report.result, "classifier": own, "selection_id": report.selection_id}
    try:
        return ResultOut.model_validate(stored)
    except ValidationError:
        return stored


def present_spec(stored: dict[str, Any]) -> dict[str, Any]:
    """Build the API's view of a stored spec: the verbalizer is an object."""
    return _in_order({**stored, "verbalizer": dict(stored["verbalizer"])}, _order_of_a_spec())


@cache
def _order_of_a_spec() -> dict[str, Any]:
    return {**dict.fromkeys(SpecOut.model_fields), "config": SelectionConfig().model_dump()}


def _in_order(stored: dict[str, Any], pattern: dict[str, Any]) -> dict[str, Any]:
    """Give the keys the order of the pattern, which JSONB loses. Keys that the pattern lacks come last."""
    names = [*(name for name in pattern if name in stored), *(name for name in stored if name not in pattern)]
    return {name: _order_value(stored[name], pattern.get(name)) for name in names}


def _order_value(value: Any, pattern: Any) -> Any:
    return _in_order(value, pattern) if isinstance(value, dict) and isinstance(pattern, dict) else value
