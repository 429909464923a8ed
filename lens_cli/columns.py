"""The columns of a file that the user did not name: found by name, also in another case."""

from contextlib import suppress
from pathlib import Path

from lens_engine.errors import InvalidDataset
from lens_engine.reading.column_profiles import list_columns
from lens_engine.reading.columns import match_column


def match_columns(path: Path, wanted: dict[str, str | None]) -> tuple[list[str], list[str]]:
    """The names of columns, and a note for each that has its name in another case.

    Args:
        wanted: for each usual name, the name that the user gave; None: the usual name, or that name in another case.
    """
    found = list[str]()
    if None in wanted.values():
        with suppress(InvalidDataset, OSError):  # the reader says it better
            found = list_columns(path)
    names = [given or match_column(found, usual) for usual, given in wanted.items()]
    notes = [
        f"column {name!r} is read as the {usual}s"
        for name, (usual, given) in zip(names, wanted.items(), strict=True)
        if given is None and name != usual
    ]
    return names, notes
