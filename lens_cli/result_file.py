"""The file of a result, which `lens select --output` writes and other commands read."""

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from lens_cli.refusals import RefusedInput

if TYPE_CHECKING:
    from lens_engine.result import SelectionResult


def read_result(path: Path) -> "SelectionResult":
    """
    Raises:
        RefusedInput: the file is no result.
    """
    from lens_engine.result import SelectionResult

    try:
        return SelectionResult.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise RefusedInput(f"{path} is no result of lens select --output", "where: RESULT") from error
