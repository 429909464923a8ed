"""What a failed run tells its owner: the same problem object that the API answers with."""

from typing import Any

from app.errors import title_of
from app.settings import Settings
from app.web.problems import ErrorItem, point, problem
from lens_engine.errors import InvalidInput, LensError


def describe_failure(error: LensError | MemoryError, settings: Settings, instance: str) -> dict[str, Any]:
    """The problem for an error that another attempt would meet again."""
    if isinstance(error, MemoryError):
        detail = "the machine has too little memory for this dataset and model"
        return problem("out-of-memory", detail, settings=settings, instance=instance)
    errors = [_locate(error)] if isinstance(error, InvalidInput) else []
    return problem(error.code, str(error), settings=settings, title=title_of(error), instance=instance, errors=errors)


def describe_timeout(settings: Settings, instance: str) -> dict[str, Any]:
    detail = "the run did not end within its time limit; set a budget (max_seconds) to stop with the best so far"
    return problem("timeout", detail, settings=settings, instance=instance)


def _locate(error: InvalidInput) -> ErrorItem:
    path = ["dataset", "rows", error.row] if error.row is not None else error.field.split(".")
    return {"detail": str(error), "pointer": point(*path)}
