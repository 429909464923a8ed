"""Finds the wanted columns, mostly `text` and `label`, in a table's header."""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Never

from lens_engine.errors import InvalidDataset
from lens_engine.reading.dialect import DELIMITERS
from lens_engine.task.text_checks import show_names
from lens_engine.task.wording import show_label

TEXT = "text"
LABEL = "label"
MAX_COLUMNS = 1_000


@dataclass(frozen=True, slots=True)
class WantedColumns:
    """The names of the columns that a reader takes.

    Raises:
        InvalidDataset: the two names are equal.
    """

    text: str = TEXT
    label: str | None = LABEL  #: None: the texts have no labels

    def __post_init__(self) -> None:
        if self.text == self.label:
            raise InvalidDataset(
                f"the column {show_label(self.text)} cannot hold both texts and labels; name two columns "
                "(text_column, label_column)",
                field="label_column",
            )

    @property
    def names(self) -> tuple[str, ...]:
        return (self.text,) if self.label is None else (self.text, self.label)

    @property
    def parameters(self) -> str:
        """The parameters that name the columns, for a message."""
        return "text_column" if self.label is None else "text_column, label_column"


@dataclass(frozen=True, slots=True)
class Columns:
    """The places of the columns in a header."""

    text: int  #: index of the column of texts
    label: int | None  #: index of the column of labels; None if none is wanted
    width: int
    unused: tuple[str, ...]


def match_header(names: Sequence[str], wanted: WantedColumns, field: str) -> Columns:
    """Find the wanted columns.

    Raises:
        InvalidDataset: a wanted column is missing, or a name occurs twice.
    """
    if len(names) > MAX_COLUMNS:
        raise InvalidDataset(
            f"the dataset has more than {MAX_COLUMNS:,} columns; keep {' and '.join(wanted.names)}", field=field
        )
    _refuse_repeated(names, wanted, field)
    missing = [name for name in wanted.names if name not in names]
    if missing:
        _refuse_missing(missing, names, wanted, field)
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
            f"the column {show_label(repeated[0])} is there more than once; columns found: {show_names(names)}; "
            "give each column a name of its own",
            field=_path(repeated[0], wanted, field),
        )


def _refuse_missing(missing: Sequence[str], names: Sequence[str], wanted: WantedColumns, field: str) -> Never:
    shown = " and ".join(map(show_label, missing))
    there_is = "there is no column" if len(missing) == 1 else "there are no columns"
    raise InvalidDataset(
        f"{there_is} named exactly {shown}; columns found: {show_names(names)}; {_advise(missing, names, wanted)}",
        field=_path(missing[0], wanted, field),
    )


def _advise(missing: Sequence[str], names: Sequence[str], wanted: WantedColumns) -> str:
    near = {name: [found for found in names if _is_near(found, name) and found not in wanted.names] for name in missing}
    renames = " and ".join(f"{show_label(found[0])} to {show_label(name)}" for name, found in near.items() if found)
    what = "the column" if len(wanted.names) == 1 else "the columns"
    other_names = f"name {what} to read ({wanted.parameters})"
    delimiters = [one for one in DELIMITERS if len(names) == 1 and one in names[0]]
    if delimiters and wanted.label is not None:
        return f"name the delimiter of the file, perhaps {show_label(delimiters[0])} (delimiter)"
    is_named = any(name not in (TEXT, LABEL) for name in missing)  # by the caller
    if renames and not is_named:
        return f"rename {renames}, or {other_names}"
    if renames:
        return f"name {' and '.join(show_label(found[0]) for found in near.values() if found)} ({wanted.parameters})"
    if is_named:
        return f"name one of the columns found ({wanted.parameters})"
    return (
        f"the first line of a CSV file, or the keys of each JSON object, must name {what} "
        f"{' and '.join(wanted.names)}; otherwise {other_names}"
    )


def _is_near(found: str, wanted: str) -> bool:
    """Whether two names differ in case, spaces and accents only."""
    return _bare(found) == _bare(wanted)


def _bare(name: str) -> str:
    return "".join(
        one for one in unicodedata.normalize("NFD", name.strip().casefold()) if not unicodedata.combining(one)
    )


def find_near(name: str, names: Sequence[str]) -> str | None:
    """The column that differs from the name in case, spaces and accents only."""
    return next((found for found in names if _is_near(found, name)), None)


def _path(column: str, wanted: WantedColumns, field: str) -> str:
    return f"{field}.{column}" if column in wanted.names else field
