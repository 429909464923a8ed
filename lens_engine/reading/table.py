"""The contract between the shapes of files and what takes their rows: a table of named columns."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

from lens_engine.reading.dialect import UTF8, FoundDialect, show_encoding

DatasetFormat = Literal["csv", "jsonl", "json", "text", "parquet", "arrow", "workbook", "folder", "inline"]

NO_CELLS: Mapping[str, object] = MappingProxyType({})
NAMED_ROWS = 20
"""Number of rows that are looked at to tell what a file of objects is."""


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


@dataclass(frozen=True)
class Table:
    """A file, as a table of named columns."""

    names: tuple[str, ...]  #: of the columns, in order; of objects, those of the first rows
    rows: Callable[[], Iterator[Row]]  #: every data row, in order; may be called again
    format: DatasetFormat
    dialect: FoundDialect = FoundDialect(UTF8)  #: how a text file is written, with what is to be said of it
    kind: str | None = None  #: what the file is, beside a plain table: "a file of fastText"
    text: str | None = None  #: column that holds the texts because the file is of this kind
    label: str | None = None  #: the same for the labels
    has_header: bool = True  #: whether `names` are all columns; if not, a row may have others
    has_raw_bytes: bool = False  #: whether a surrogate in a cell is a byte that could not be decoded

    @property
    def encoding(self) -> str | None:
        """The name of the encoding that a surrogate in a cell is not of; None if surrogates are characters."""
        return show_encoding(self.dialect.encoding) if self.has_raw_bytes else None
