"""Turns rows of selections into wire types.

Another release may have stored a row. So the spec is shown as it is stored, and is not validated.
"""

from functools import cache
from typing import Any

from pydantic import ValidationError

from app.jobs.presentation import in_order, read_columns
from app.jobs.schemas import QueueOut
from app.models import Job, Report, StoredClassifier
from app.selections.schemas import ResultOut, SelectionOut, SpecOut
from lens_engine.config import SelectionConfig


def present(selection: Job, queue: QueueOut | None = None) -> SelectionOut:
    """Build the API's view of a selection. `queue`: its place, if it was asked for."""
    values = read_columns(selection, SelectionOut.model_fields, queue)
    return SelectionOut.model_validate({**values, "spec": present_spec(selection.spec)})


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
    return in_order({**stored, "verbalizer": dict(stored["verbalizer"])}, _order_of_a_spec())


@cache
def _order_of_a_spec() -> dict[str, Any]:
    return {**dict.fromkeys(SpecOut.model_fields), "config": SelectionConfig().model_dump()}
