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
from lens_engine.reading.columns import TEXT, ColumnNames, WantedColumns
from lens_engine.reading.dialect import FoundDialect
from lens_engine.reading.errors import DatasetTooLarge, refuse_more_rows
from lens_engine.reading.limits import ParsingLimits
from lens_engine.reading.table import DatasetFormat, Row, Table
from lens_engine.reading.values import find_value_fault, read_text, show_columns
from lens_engine.task.text_checks import MAX_SHOWN, UNSTORABLE, find_fault, is_blank, replace_unstorable
from lens_engine.task.wording import show_count, show_label


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
    """The texts of a table.

    Raises:
        DatasetTooLarge: the cap on rows or bytes is exceeded.
        InvalidDataset: the column cannot be found, or the name of a column cannot be kept.
    """
    choice = choose(table, named, field, has_labels=False)
    rows = _TextCollector(limits, field, choice.text.wanted, table.encoding)
    for row in table.rows():
        rows.add(row)
    return ReadTexts(
        tuple(rows.rows),
        table.dialect,
        table.format,
        rows.num_bytes,
        rows.digest.hexdigest(),
        rows.cells.names,
        rows.cells.text_place,
        rows.describe(),
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
        self._encoding = encoding
        self._column = show_columns(wanted)
        self.cells = _CellPacker(limits, field, self._column)
        self._mended = list[int]()  #: rows with a change in another column than that of the texts

    def describe(self) -> tuple[str, ...]:
        """A sentence about what was changed in columns beside the texts."""
        if not self._mended:
            return ()
        first = ", ".join(map(str, self._mended[:MAX_SHOWN]))
        return (
            f"{show_count(len(self._mended), 'row')} with NUL or half a surrogate pair in another column than "
            f"{show_label(self._column)}; U+FFFD stands in its place (first rows: {first})",
        )

    def add(self, row: Row) -> None:
        if row.empty == "line":
            return
        cells, fault, text = self._mend(row.cells), row.fault, read_text(row.cells, self.wanted.text)
        if fault is None:
            fault = find_value_fault(row.cells, text, None, self.wanted, self._encoding)
        if fault is not None:
            self._keep("", fault.column, fault.detail, row.line, cells)
        elif not isinstance(text, str) or is_blank(text):
            self._keep(str(text or ""), self._column, "is blank; write a text", row.line, cells)
        else:
            self._keep(text, self._column, find_fault(text, self.limits.max_text_characters), row.line, cells)

    def _mend(self, cells: Mapping[str, object]) -> Mapping[str, object]:
        """The cells as they can be kept."""
        mended = {name: replace_unstorable(cell) for name, cell in cells.items()}
        if any(
            cell is not cells[name] and cell != cells[name] for name, cell in mended.items() if name != self._column
        ):
            self._mended.append(len(self.rows))
        return mended

    def _keep(
        self, text: str, column: str | None, fault: str | None, line: int | None, cells: Mapping[str, object]
    ) -> None:
        if len(self.rows) >= self.limits.max_rows:
            refuse_more_rows(self.limits.max_rows, self.field)
        text = replace_unstorable(text)
        packed = self.cells.pack(cells, text)
        if fault is not None:
            fault = fault if column is None else f"`{column}` {fault}"
            fault = fault if line is None else f"(line {line}) {fault}"
        for part in (encoded := text.encode("utf-8", "surrogatepass"), noted := (fault or "").encode()):
            self.digest.update(len(part).to_bytes(8) + part)
        self.num_bytes += len(encoded) + len(noted) + len(packed)
        if self.num_bytes > self.limits.max_kept_bytes:
            raise DatasetTooLarge(
                f"the rows take more than {self.limits.max_kept_bytes:,} bytes with all their columns, as they are "
                f"kept; this was found at row {len(self.rows):,}; split the file, or leave columns out",
                field=self.field,
            )
        self.rows.append(TextRow(text, fault, packed))


class _CellPacker:
    """Packs the cells of one row after another, and learns the names of the columns from them."""

    def __init__(self, limits: ParsingLimits, field: str, text_column: str) -> None:
        self._limits = limits
        self._field = field
        self._text_column = text_column
        self._names = dict[str, None]()  #: in the order in which they were met

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._names)

    @property
    def text_place(self) -> int | None:
        """Index of the column of texts; None if no row has it."""
        return self.names.index(self._text_column) if self._text_column in self._names else None

    def pack(self, cells: Mapping[str, object], text: str) -> bytes:
        """The values of a row, in the order of `names`; b"" if only the text is left out.

        Args:
            cells: without half of a surrogate pair, which cannot be written as UTF-8.

        Raises:
            InvalidDataset: the name of a column is too long, or cannot be kept.
            DatasetTooLarge: there are too many columns.
        """
        for name in cells:
            if name and name not in self._names:  # spreadsheets write an empty name for each empty column
                self._add(name)
        values = [_show(cells.get(name)) for name in self._names]
        if text and self._text_column in self._names and cells.get(self._text_column) == text:
            values[self.names.index(self._text_column)] = None
        while values and values[-1] is None:
            values.pop()
        return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode() if values else b""

    def _add(self, name: str) -> None:
        most, longest = self._limits.max_columns, self._limits.max_column_characters
        if UNSTORABLE.search(name):
            raise InvalidDataset(
                f"the column {show_label(name)} has NUL or half a surrogate pair in its name; rename the column",
                field=self._field,
            )
        if len(name) > longest:
            raise InvalidDataset(
                f"the name of column {len(self._names) + 1:,} ({show_label(name)}) has {len(name):,} characters, and "
                f"at most {longest:,} are allowed; shorten it, or leave the column out",
                field=self._field,
            )
        if len(self._names) == most:
            raise DatasetTooLarge(
                f"the file has more than {most:,} columns, and the output has all of them; leave some out",
                field=self._field,
            )
        self._names[name] = None


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
