"""The text collector: keeps every row of a file without labels, the bad ones with what is wrong.

Cells are packed: the names of the columns once, and the values of each row as a JSON array. The value of the column of
texts is left out where it is the text of the row.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from lens_engine.errors import InvalidDataset
from lens_engine.reading.column_choice import Named, choose
from lens_engine.reading.dialect import FoundDialect
from lens_engine.reading.limits import DatasetTooLarge, ParsingLimits
from lens_engine.reading.places import DOUBT, Places
from lens_engine.reading.table import TEXT, ColumnNames, DatasetFormat, Row, Table, WantedColumns, show_columns
from lens_engine.task.text_checks import UNSTORABLE, find_fault, is_blank, replace_unstorable
from lens_engine.task.wording import show_label
from lens_engine.types import name_place


@dataclass(frozen=True, slots=True)
class TextRow:
    """One row of a file of texts."""

    text: str
    """As written, but for U+FFFD in place of what no store keeps; such a row is bad. "" without a text to read."""
    fault: str | None = None  #: why the row is bad, as a sentence without its subject (the row)
    cells: bytes = field(default=b"", compare=False)  #: the values of all columns, which `unpack_cells` reads


@dataclass(frozen=True, slots=True)
class ReadTexts:
    """The rows of a file of texts, and how the file is written."""

    rows: tuple[TextRow, ...]
    dialect: FoundDialect
    format: DatasetFormat
    num_bytes: int  #: of the rows as they are kept, with all their columns
    sha256: str  #: of the texts, and of what is wrong with them
    columns: tuple[str, ...] = ()  #: names, in the order of the cells of the rows
    text_place: int | None = None  #: index of the column of texts; None if no row has it, or several are joined
    changes: tuple[str, ...] = ()  #: a sentence about what was changed in the other columns, if anything
    text_column: ColumnNames = TEXT  #: of the texts
    notes: tuple[str, ...] = ()  #: a sentence about why this column

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence for each oddity that was accepted."""
        return (*self.notes, *self.dialect.notes, *self.changes)


def collect_texts(table: Table, named: Named, limits: ParsingLimits, field: str) -> ReadTexts:
    """The texts of a table; errors as of `read_texts`."""
    choice = choose(table, named, field, has_labels=False)
    rows = _TextCollector(limits, field, choice.text.wanted, table.encoding)
    for row in table.rows():
        if row.empty != "line":
            rows.add(row)
    return ReadTexts(
        tuple(rows.rows),
        table.dialect,
        table.format,
        rows.num_bytes,
        rows.digest.hexdigest(),
        tuple(rows.names),
        rows.names.get(show_columns(choice.text.wanted)),
        rows.describe_changes(),
        choice.text.wanted,
        tuple(choice.notes()),
    )


class _TextCollector:
    """Keeps every row. A bad row does not stop the reading, so that the rows after it keep their numbers."""

    def __init__(self, limits: ParsingLimits, field: str, wanted: ColumnNames, encoding: str | None) -> None:
        self.limits, self.field, self.wanted = limits, field, WantedColumns(wanted, None)
        self.rows: list[TextRow] = []
        self.num_bytes = 0  #: of the rows as they are kept
        self.digest = hashlib.sha256()
        self.names = dict[str, int]()  #: places of the columns, in the order in which they were met
        self._encoding = encoding
        self._column = show_columns(wanted)
        self._changed, self._doubtful = Places(), Places()

    def add(self, row: Row) -> None:
        """Keep a row. One too many is refused, and one whose columns cannot be kept."""
        self.limits.check_rows(len(self.rows) + 1, self.field)
        text, (fault, column) = self._judge(row)
        if row.is_doubtful:
            self._doubtful.add(DOUBT, name_place(len(self.rows), row.line))
        text = replace_unstorable(text)
        packed = self._pack(self._mend(row), text)
        if fault is not None:
            fault = fault if column is None else f"`{column}` {fault}"
            fault = fault if row.line is None else f"(line {row.line}) {fault}"
        for part in (encoded := text.encode("utf-8", "surrogatepass"), noted := (fault or "").encode()):
            self.digest.update(len(part).to_bytes(8) + part)
        self.num_bytes += len(encoded) + len(noted) + len(packed)
        if self.num_bytes > self.limits.max_kept_bytes:
            raise DatasetTooLarge(
                f"the rows take more than {self.limits.max_kept_bytes:,} bytes with all their columns, as they are "
                f"kept; this was found at row {len(self.rows) + 1:,}; split the file, or leave columns out",
                field=self.field,
            )
        self.rows.append(TextRow(text, fault, packed))

    def _judge(self, row: Row) -> tuple[str, tuple[str | None, str | None]]:
        """The text of a row; and what is wrong with it, and with which column."""
        text = self.wanted.read_text(row.cells)
        if fault := row.fault or self.wanted.find_fault(row, text, None, self._encoding):
            return "", (fault.detail, fault.column)
        if not isinstance(text, str) or is_blank(text):
            return str(text or ""), ("is blank; write a text", self._column)
        return text, (find_fault(text, self.limits.max_text_characters), self._column)

    def _mend(self, row: Row) -> Mapping[str, object]:
        """The cells as they can be kept."""
        cells = row.cells
        mended = {name: replace_unstorable(cell) for name, cell in cells.items()}
        others = (name for name in mended if name != self._column)
        if any(mended[name] is not cells[name] and mended[name] != cells[name] for name in others):
            other = f"in another column than {show_label(self._column)}; U+FFFD stands in its place"
            self._changed.add(f"with NUL or half a surrogate pair {other}", name_place(len(self.rows), row.line))
        return mended

    def describe_changes(self) -> tuple[str, ...]:
        """A sentence about rows that may have swallowed others, and one about what was changed beside the texts."""
        return (*self._doubtful.describe("has"), *self._changed.describe())

    def _pack(self, cells: Mapping[str, object], text: str) -> bytes:
        """The values of a row, in the order of `names`; b"" if only the text is left out."""
        for name in cells:
            if name and name not in self.names:  # spreadsheets write an empty name for each empty column
                self._add_column(name)
        values = [_show(cells.get(name)) for name in self.names]
        if text and self._column in self.names and cells.get(self._column) == text:
            values[self.names[self._column]] = None
        while values and values[-1] is None:
            values.pop()
        return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode() if values else b""

    def _add_column(self, name: str) -> None:
        most, longest = self.limits.max_columns, self.limits.max_column_characters
        if UNSTORABLE.search(name):
            raise InvalidDataset(
                f"the column {show_label(name)} has NUL or half a surrogate pair in its name; rename the column",
                field=self.field,
            )
        if len(name) > longest:
            raise InvalidDataset(
                f"the name of column {len(self.names) + 1:,} ({show_label(name)}) has {len(name):,} characters, and "
                f"at most {longest:,} are allowed; shorten it, or leave the column out",
                field=self.field,
            )
        if len(self.names) == most:
            raise DatasetTooLarge(
                f"the file has more than {most:,} columns, and the output has all of them; leave some out",
                field=self.field,
            )
        self.names[name] = len(self.names)


def unpack_cells(packed: bytes, text: str, number: int, text_place: int | None) -> list[Any]:
    """The values of a row, one for each of `number` columns; None where the row has no value.

    Args:
        text: of the row.
        text_place: index of the column of texts; None if no column is.
    """
    values: list[Any] = json.loads(packed) if packed else []
    values += [None] * (number - len(values))
    if text_place is not None and values[text_place] is None and text:
        values[text_place] = text
    return values


def _show(cell: object) -> object:
    """A value that every format can hold."""
    if isinstance(cell, list | dict):
        return json.dumps(cell, ensure_ascii=False, default=str)
    if isinstance(cell, float) and not isfinite(cell):
        return None
    return cell if isinstance(cell, str | int | float | None) else str(cell)
