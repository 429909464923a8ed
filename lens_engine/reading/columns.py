"""Finds the columns `text` and `label` in a table's header."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from lens_engine.errors import InvalidDataset
from lens_engine.reading.text_checks import show_name, show_names

TEXT = "text"
LABEL = "label"
MAX_COLUMNS = 1_000

_SEPARATORS = {";": "semicolon", "\t": "tab", "|": "pipe"}


@dataclass(frozen=True, slots=True)
class Columns:
    """The places of the columns in a header."""

    text: int  #: index of the column `text`
    label: int  #: index of the column `label`
    width: int
    unused: tuple[str, ...]


def find_columns(names: Sequence[str], field: str) -> Columns:
    """Find `text` and `label`.

    Raises:
        InvalidDataset: one of the two is missing, or a name occurs twice.
    """
    if len(names) > MAX_COLUMNS:
        raise InvalidDataset(f"the dataset has more than {MAX_COLUMNS:,} columns; keep text and label", field=field)
    _refuse_repeated(names, field)
    for wanted in (TEXT, LABEL):
        if wanted not in names:
            _refuse_missing(wanted, names, field)
    unused = tuple(name for name in names if name not in (TEXT, LABEL))
    return Columns(names.index(TEXT), names.index(LABEL), len(names), unused)


def describe_unused(names: Sequence[str]) -> str:
    """The warning that names the unused columns."""
    return f"columns other than text and label are not used: {show_names(names)}"


def _refuse_repeated(names: Sequence[str], field: str) -> None:
    # Spreadsheets write an empty name for each empty column at the right, so repeated empty names are allowed.
    repeated = [name for name, count in Counter(names).items() if count > 1 and name]
    if repeated:
        raise InvalidDataset(
            f"the column {show_name(repeated[0])} is there more than once; columns found: {show_names(names)}; "
            "give each column a name of its own",
            field=_path(repeated[0], field),
        )


def _refuse_missing(wanted: str, names: Sequence[str], field: str) -> None:
    raise InvalidDataset(
        f"there is no column named exactly '{wanted}'; columns found: {show_names(names)}; {_advise(wanted, names)}",
        field=_path(wanted, field),
    )


def _advise(wanted: str, names: Sequence[str]) -> str:
    if len(names) == 1:
        for character, separator in _SEPARATORS.items():
            if character in names[0]:
                return f"the file looks like {separator}-separated: save it with commas"
    near = [name for name in names if name.strip().casefold() == wanted]
    if near:
        return f"rename {show_name(near[0])} to '{wanted}'"
    return "the first line of a CSV file, or the keys of each JSON object, must name the columns text and label"


def _path(column: str, field: str) -> str:
    return f"{field}.{column}" if column in (TEXT, LABEL) else field
