"""Turns database rows into wire types.

Another release may have stored a row. So the spec and the progress are shown as they are stored, and are not validated.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import ValidationError

from app.lifecycle.spec import read_task
from app.lifecycle.states import TERMINAL, Status
from app.models import Report, Selection, StoredClassifier
from app.selections.schemas import ProgressOut, QueueOut, ResultOut, SelectionOut, SpecOut, SupportExamplesOut
from lens_engine.classifier.classifier import LabelWord, TaskRecord
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


def present_progress(selection: Selection) -> dict[str, Any] | None:
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


def present_support_examples(report: Report) -> SupportExamplesOut:
    """Build the API's view of the support examples."""
    shown = {name: report.result.get(name) for name in ("partial", "task", "examples", "prompt", "validation", "test")}
    verdict = Advice.of(report)
    return SupportExamplesOut(
        **shown, selection_id=report.selection_id, recommended=verdict.favours_one_prompt, reason=verdict.reason
    )


@dataclass(frozen=True, slots=True)
class Advice:
    """What the verdict of a stored result recommends."""

    use: str | None  #: name of the classifier to use; None if nothing was compared
    reason: str | None
    favours_one_prompt: bool | None  #: whether the classifier to use is the prompt of the support examples

    @classmethod
    def of(cls, report: Report) -> "Advice":
        verdict = report.result.get("verdict")
        if verdict is None:
            return cls(None, None, None)
        tested = {one["name"] for one in report.result.get("tested", ())}
        single = "support_examples" if "support_examples" in tested else "ensemble"
        return cls(verdict["use"], verdict["sentence"], verdict["use"] == single)


def present_label_words(selection: Selection) -> tuple[LabelWord, ...]:
    return TaskRecord.of(read_task(selection.spec)).label_words


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
