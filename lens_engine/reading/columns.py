"""Finds the wanted columns, mostly `text` and `label`, in a table's header."""

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
class WantedColumns:
    """The names of the columns that a reader takes."""

    text: str = TEXT
    label: str | None = LABEL  #: None: the texts have no labels

    @property
    def names(self) -> tuple[str, ...]:
        return (self.text,) if self.label is None else (self.text, self.label)


@dataclass(frozen=True, slots=True)
class Columns:
    """The places of the columns in a header."""

    text: int  #: index of the column of texts
    label: int | None  #: index of the column of labels; None if none is wanted
    width: int
    unused: tuple[str, ...]


def find_columns(names: Sequence[str], wanted: WantedColumns, field: str) -> Columns:
    """Find the wanted columns.

    Raises:
        InvalidDataset: a wanted column is missing, or a name occurs twice.
    """
    if len(names) > MAX_COLUMNS:
        raise InvalidDataset(
            f"the dataset has more than {MAX_COLUMNS:,} columns; keep {' and '.join(wanted.names)}", field=field
        )
    _refuse_repeated(names, wanted, field)
    for name in wanted.names:
        if name not in names:
            _refuse_missing(name, names, wanted, field)
    unused = tuple(name for name in names if name not in wanted.names)
    label = None if wanted.label is None else names.index(wanted.label)
    return Columns(names.index(wanted.text), label, len(names), unused)


def describe_unused(names: Sequence[str], wanted: WantedColumns) -> str:
    """The warning that names the unused columns."""
    return f"columns other than {' and '.join(wanted.names)} are not used: {show_names(names)}"


def _refuse_repeated(names: Sequence[str], wanted: WantedColumns, field: str) -> None:
    # Spreadsheets write an empty name for each empty column at the right, so repeated empty names are allowed.
    repeated = [name for name, count in Counter(names).items() if count > 1 and name]
    if repeated:
        raise InvalidDataset(
            f"the column {show_name(repeated[0])} is there more than once; columns found: {show_names(names)}; "
            "give each column a name of its own",
            field=_path(repeated[0], wanted, field),
        )


def _refuse_missing(name: str, names: Sequence[str], wanted: WantedColumns, field: str) -> None:
    raise InvalidDataset(
        f"there is no column named exactly {show_name(name)}; columns found: {show_names(names)}; "
        f"{_advise(name, names, wanted)}",
        field=_path(name, wanted, field),
    )


def _advise(missing: str, names: Sequence[str], wanted: WantedColumns) -> str:
    if len(names) == 1:
        for character, separator in _SEPARATORS.items():
            if character in names[0]:
                return f"the file looks like {separator}-separated: save it with commas"
    near = [name for name in names if name.strip().casefold() == missing.casefold()]
    if near:
        return f"rename {show_name(near[0])} to {show_name(missing)}"
    columns = "the column" if wanted.label is None else "the columns"
    return (
        f"the first line of a CSV file, or the keys of each JSON object, must name {columns} "
        f"{' and '.join(wanted.names)}"
    )


def _path(column: str, wanted: WantedColumns, field: str) -> str:
    return f"{field}.{column}" if column in wanted.names else field
