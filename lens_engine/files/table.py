"""The second room: a file as a table of named columns, and the values of its rows as texts and labels."""

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, NamedTuple

from lens_engine.errors import InvalidDataset
from lens_engine.files.strict_json import MAX_DIGITS
from lens_engine.files.text_file import UNDECODED, UTF8, FoundDialect, quote_around, show_encoding
from lens_engine.prompt.text_checks import show_names
from lens_engine.prompt.wording import show_label

DatasetFormat = Literal["csv", "jsonl", "json", "text", "parquet", "arrow", "workbook", "folder", "inline"]

TEXT, LABEL = "text", "label"
NO_CELLS: Mapping[str, object] = MappingProxyType({})
NAMED_ROWS = 20  #: number of rows that are looked at to tell what a file of objects is
MISSING = object()  #: the value of a column that the row does not have
ONE_LABEL = "Lens gives a text one label: write a column for each question, and name one (label_column)"
_LONGEST_LIST = 2_000
_LONGEST_NAME = 500  #: characters within which dots may part the keys of objects
_PLACES = {"start", "end", "offset", "position", "points"}  #: keys of a mark, which labels a part of a text
_KINDS = ((bool, "true or false"), (int | float, "a number"), (list, "a list"), (dict, "an object"))

ColumnNames = str | tuple[str, ...]
"""A column of texts; or several, whose texts are joined."""


def list_columns(*named: ColumnNames | None) -> tuple[str, ...]:
    """The single names."""
    return tuple(name for one in named if one is not None for name in ((one,) if isinstance(one, str) else one))


def show_columns(wanted: ColumnNames | None) -> str:
    """The names of columns, for a message."""
    return ", ".join(list_columns(wanted))


class Fault(NamedTuple):
    """Why a row cannot be used."""

    kind: str  #: what such rows have in common, after "12 rows": "of another width than the header"
    detail: str  #: completes the sentence "row 3 …"
    column: str | None = None  #: None if the whole row is bad


class Row(NamedTuple):
    """One data row, bad ones too."""

    cells: Mapping[str, object]  #: values by column; those of JSON may lack a column, or hold lists and objects
    line: int | None = None  #: of the file, on which the row begins, from 1
    fault: Fault | None = None
    aside: str | None = None  #: why the file itself says that the row has no label to learn from; any share may have it
    empty: Literal["", "line", "fields"] = ""  #: a blank line is no row; one of empty fields is none of a dataset
    is_doubtful: bool = False  #: whether it has a quoted text with lines that look like rows of their own


@dataclass(frozen=True)
class Table:
    """A file, as a table of named columns."""

    names: tuple[str, ...]  #: of the columns, in order; of objects, those of the first rows
    rows: Callable[[], Iterator[Row]]  #: every data row, in order; may be called again
    format: DatasetFormat
    dialect: FoundDialect = FoundDialect(UTF8, has_mark=False)  #: how a text file is written
    kind: str | None = None  #: what the file is, beside a plain table: "a file of fastText"
    text: str | None = None  #: column that holds the texts because the file is of this kind
    label: str | None = None  #: the same for the labels
    has_header: bool = True  #: whether `names` are all columns; if not, a row may have others
    has_raw_bytes: bool = False  #: whether a surrogate in a cell is a byte that could not be decoded

    @property
    def encoding(self) -> str | None:
        """The name of the encoding that a surrogate in a cell is not of; None if surrogates are characters."""
        return show_encoding(self.dialect.encoding) if self.has_raw_bytes else None


@dataclass(frozen=True, slots=True)
class WantedColumns:
    """The columns that are read, and their values in a row."""

    text: ColumnNames = TEXT
    label: str | None = LABEL  #: None: the texts have no labels

    def __post_init__(self) -> None:
        repeated = [name for name, number in Counter(self.names).items() if number > 1]
        if repeated:
            told = f"the column {show_label(repeated[0])} cannot hold both texts and labels"
            raise InvalidDataset(f"{told}; name two columns (text_column, label_column)", field="label_column")

    @property
    def names(self) -> tuple[str, ...]:
        return list_columns(self.text, self.label)

    @property
    def parameters(self) -> str:
        """The parameters that name the columns, for a message."""
        return "text_column" if self.label is None else "text_column, label_column"

    def read_text(self, cells: Mapping[str, object]) -> object:
        """The text of a row: a string, several joined by line breaks; None for an empty value; else what is there."""
        if isinstance(self.text, str):
            return pick(cells, self.text)
        found = [pick(cells, name) for name in self.text]
        odd = [one for one in found if not isinstance(one, str | None) and one is not MISSING]
        if odd or all(one is MISSING for one in found):
            return odd[0] if odd else MISSING
        return "\n".join(one for one in found if isinstance(one, str) and one.strip())

    def read_label(self, cells: Mapping[str, object]) -> object:
        """The label of a row: a string; None for an empty value, a text alone, or without labels; else what is there.

        A row with a key that is like that of the labels is not taken for a text alone.
        """
        if self.label is None:
            return None
        found = show_value(pick(cells, self.label))
        is_alone = found is MISSING and self.read_text(cells) is not MISSING
        return None if is_alone and self.label.casefold() not in map(str.casefold, cells) else found

    def find_fault(self, row: Row, text: object, label: object, encoding: str | None) -> Fault | None:
        """What hinders the reading of values as text and label; None of good and of blank ones. `encoding`: by which
        the file was decoded, if a surrogate is a byte that is not of it.
        """
        missing = [name for name, value in ((self.text, text), (self.label, label)) if value is MISSING]
        found = f"keys found: {show_names(list(row.cells)) or 'none'}" if missing else ""
        if len(missing) == 1:
            kind = "without a label" if missing[0] == self.label else "without a text"
            return Fault(kind, f"is missing; {found}", show_columns(missing[0]))
        if missing:
            detail = f"has no keys {show_names(list_columns(*missing))}; {found}; rename them, or name the keys to read"
            return Fault("without a text", f"{detail} ({self.parameters})")
        if isinstance(label, list) and label and all(isinstance(one, str) for one in label):
            return Fault("with several labels", f"has several labels; {ONE_LABEL}", self.label)
        for name, value in ((show_columns(self.text), text), (show_columns(self.label), label)):
            if not isinstance(value, str | None):
                return Fault(f"whose {name} is no string", _refuse_type(value), name)
            if encoding is not None and value is not None and (broken := UNDECODED.search(value)):
                words = quote_around(value, broken.start())
                advice = "save the file as UTF-8, or name its encoding (encoding)"
                detail = f"holds bytes that are not {encoding} at {words}; {advice}"
                return Fault(f"with bytes that are not {encoding}", detail, name)
        return None


def pick(cells: Mapping[str, object], name: str) -> object:
    """The value of a column, or within objects (`fields.text`); `MISSING` if there is none."""
    if name in cells:
        return cells[name]
    ends = [end for end, one in enumerate(name[:_LONGEST_NAME]) if one == "."]
    found = (pick(one, name[end + 1 :]) for end in ends if isinstance(one := cells.get(name[:end]), Mapping))
    return next((one for one in found if one is not MISSING), MISSING)


def show_value(value: object) -> object:
    """A value of a label as a string: whole numbers in digits, true and false, the only value of a list, the name of an
    object, as trackers of issues write their labels. A list of several labels is one of strings.
    """
    if isinstance(value, str):
        return _read_list(value) if value[:1] == "[" and value.endswith("]") else value
    if isinstance(value, dict) and isinstance(name := value.get("name"), str) and not value.keys() & _PLACES:
        return name
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, float) and value != value:  # NaN
        return None
    if isinstance(value, int) and abs(value) < 10**MAX_DIGITS:
        return str(value)
    if isinstance(value, list):
        items = [show_value(one) for one in value]
        if all(isinstance(one, str) for one in items):
            return items if len(items) > 1 else items[0] if items else None
    return value


@lru_cache(maxsize=4096)
def _read_list(value: str) -> object:
    """The label in a string such as `['billing']`; the string if it is none."""
    items: object = value
    if len(value) <= _LONGEST_LIST:
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            items = ast.literal_eval(value)
    return show_value(items) if isinstance(items, list) else value


def name_class(value: object, names: object) -> object:
    """The name of a class in place of its number; any other value as it is."""
    if isinstance(value, int) and isinstance(names, list) and 0 <= value < len(names):
        return names[value]
    return value


def _refuse_type(value: object) -> str:
    if isinstance(value, list) and value and isinstance(value[0], list | dict):
        return "marks parts of the text, as for entities, and is no label of the whole text; give each row one"
    kind = next((kind for known, kind in _KINDS if isinstance(value, known)), "of another type")
    mend = "give each row a text and a label of its own" if isinstance(value, dict | list) else "put it in quotes"
    return f"is {kind}, not a string; {mend}"
