"""Rows of a CSV file with a header and any line ends."""

import csv
import io
from collections.abc import Iterator
from typing import Never

from lens_engine.errors import InvalidDataset
from lens_engine.reading.columns import Columns, match_header
from lens_engine.reading.dialect import SEPARATOR, FoundDialect, show_encoding
from lens_engine.reading.encoding import UNDECODED
from lens_engine.reading.errors import DatasetEmpty
from lens_engine.reading.limits import FIELD_TOO_LONG, row_too_long
from lens_engine.reading.places import find_bad_quote, quote_around, tell_place
from lens_engine.reading.row_sink import NO_CELLS, RowSink


def read_csv_rows(text: io.TextIOWrapper, rows: RowSink, dialect: FoundDialect) -> None:
    """Give the sink every row of a file that is open with `newline=""`.

    Raises:
        InvalidDataset: the file is not a CSV table.
    """
    lines = _BoundedLines(text, rows.limits.max_row_characters)
    reader = csv.reader(lines, strict=True, delimiter=dialect.delimiter or ",", quoting=dialect.quoting)
    header: list[str] = []
    columns: Columns | None = None
    line = 1
    try:
        for record in reader:
            is_empty = not any(map(str.strip, record))
            if not record or (is_empty and (columns is None or not rows.keeps_bad_rows)):
                rows.skip_blank()
            elif columns is not None:
                _add_record(record, header, columns, _Place(rows, lines.row, line, dialect))
            elif record[0] != SEPARATOR:
                _check_header(record, rows, dialect)
                header = dialect.read_header(record)
                columns = match_header(header, rows.columns, rows.field)
                rows.skip_columns(columns.unused)
            line = reader.line_num + 1
            lines.begin_row()
    except csv.Error as error:
        place = _Place(rows, lines.row, line, dialect)
        place.refuse(str(error), is_header=columns is None)
    if columns is None:
        raise DatasetEmpty("the file is empty; it needs named columns, and rows", field=rows.field)


class _BoundedLines:
    """Physical lines for csv.reader, with a bound on a row: csv.reader alone collects a row of any size."""

    def __init__(self, text: io.TextIOWrapper, max_row_characters: int) -> None:
        self._text = text
        self._max = max_row_characters
        self.row: list[str] = []  #: the lines of the row so far
        self._num_read = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._text.readline(self._max + 1)
        self.row.append(line)
        self._num_read += len(line)
        if self._num_read > self._max:
            raise csv.Error(f"row larger than {self._max:,} characters")
        if not line:
            raise StopIteration
        return line

    def begin_row(self) -> None:
        self.row.clear()
        self._num_read = 0


class _Place:
    """A row in the file, for a fault in it."""

    def __init__(self, rows: RowSink, lines: list[str], line: int, dialect: FoundDialect) -> None:
        self.rows, self.line = rows, line
        self._lines, self._dialect = lines, dialect

    def note_width(self, found: int, wanted: int) -> None:
        beginning = quote_around("".join(self._lines), 0)
        remedy = (
            "put quotes round a text with the delimiter or a line break in it"
            if self._dialect.has_quoting
            else "quotes are read as letters here, because some are never closed: close these, and write a quote in "
            "a quoted text twice"
        )
        fault = f"has {found:,} fields where the header has {wanted:,}; {remedy}; the row begins {beginning}"
        self.rows.note(None, fault, line=self.line)

    def note_undecoded(self, column: str, value: str, position: int) -> None:
        name, words = show_encoding(self._dialect.encoding), quote_around(value, position)
        fault = f"holds bytes that are not {name} at {words}; save the file as UTF-8, or name its encoding (encoding)"
        self.rows.note(column, fault, line=self.line)

    def refuse(self, complaint: str, *, is_header: bool) -> Never:
        fault = self._explain(complaint)
        if is_header:
            raise InvalidDataset(f"the header (line {self.line}) {fault}", field=self.rows.field) from None
        self.rows.stop(fault, line=self.line)

    def _explain(self, complaint: str) -> str:
        if "field larger than" in complaint:
            return FIELD_TOO_LONG
        if "larger than" in complaint:
            return f"is far too long: it {row_too_long(self.rows.limits.max_row_characters)}"
        row = "".join(self._lines)
        position = find_bad_quote(row, self._dialect.delimiter or ",")
        at = f"{tell_place(row, position, self.line)}, at {quote_around(row, position)}"
        if "unexpected end of data" in complaint:
            return f"opens a quote that is never closed ({at}); close it, and write a quote inside a text twice"
        return f"has a quote in the wrong place ({at}); write a quote inside a quoted text twice"


def _check_header(header: list[str], rows: RowSink, dialect: FoundDialect) -> None:
    """
    Raises:
        InvalidDataset: the header is not of this encoding.
    """
    for name in header:
        if broken := UNDECODED.search(name):
            raise InvalidDataset(
                f"the header holds bytes that are not {show_encoding(dialect.encoding)} at "
                f"{quote_around(name, broken.start())}; name the file's encoding (encoding), or save it as UTF-8",
                field=rows.field,
            )


def _add_record(record: list[str], header: list[str], columns: Columns, place: _Place) -> None:
    if len(record) != columns.width:
        place.note_width(len(record), columns.width)
        return
    rows = place.rows
    text, label = record[columns.text], None if columns.label is None else record[columns.label]
    for name, value in ((rows.columns.text, text), (rows.columns.label, label)):
        if value is not None and name is not None and (broken := UNDECODED.search(value)):
            place.note_undecoded(name, value, broken.start())
            return
    cells = dict(zip(header, record, strict=True)) if rows.keeps_cells else NO_CELLS
    rows.add(text, label, line=place.line, cells=cells)
