"""The columns of a file that the user did not name: found by name, also in another case, with a note."""

from pathlib import Path

from lens_engine.reading.column_profiles import match_columns


def find_columns(path: Path, wanted: dict[str, str | None]) -> tuple[list[str], list[str]]:
    """The names of columns, as `match_columns`, and a note for each that has its usual name in another case."""
    names = match_columns(path, wanted)
    notes = [
        f"column {name!r} is read as the {usual}s"
        for name, (usual, given) in zip(names, wanted.items(), strict=True)
        if given is None and name != usual
    ]
    return names, notes
