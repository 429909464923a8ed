"""The format of a file of predictions: the suffix of its name decides."""

from pathlib import Path

from lens_cli.refusals import RefusedInput
from lens_engine.evaluation.table import TableFormat

_FORMATS: dict[str, TableFormat] = {".csv": "csv", ".jsonl": "jsonl", ".parquet": "parquet"}


def find_format(path: Path) -> TableFormat:
    """
    Raises:
        Refusal: the suffix names no format.
    """
    found = _FORMATS.get(path.suffix.lower())
    if found is None:
        *others, last = _FORMATS
        message = f"cannot tell the format of {path}; its name must end in {', '.join(others)} or {last}"
        raise RefusedInput(message, "where: --output")
    return found
