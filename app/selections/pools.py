"""The pool of a stored result, and the result with it."""

from collections.abc import Mapping
from typing import Any

from app.models import Report
from lens_engine.result import SelectionResult
from lens_engine.retrieval.pool import Pool


def read_pool(result: Mapping[str, Any]) -> Pool | None:
    """The rows in which the prompts of a result find demonstrations; None where no prompt finds any.

    Raises:
        ValidationError: another release stored it.
    """
    found = result.get("pool")
    return None if found is None else Pool.model_validate(found)


def read_result(report: Report) -> SelectionResult:
    """The whole result of a selection.

    Raises:
        ValidationError: another release stored it.
    """
    return SelectionResult.model_validate({**report.result, "pool": read_pool(report.result)})
