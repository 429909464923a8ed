"""Rows of a CSV file: UTF-8, comma-separated, with a header, any line ends."""

import csv
import io
import re
from collections.abc import Iterator
from typing import Never

from lens_engine.errors import InvalidDataset
from lens_engine.reading.columns import Columns, find_columns
from lens_engine.reading.errors import DatasetEmpty
from lens_engine.reading.row_sink import RowSink

_NOT_UTF8 = re.compile("[\udc80-\udcff]")
"""A byte that is not UTF-8, as the error handler "surrogateescape" decodes it."""
_SAVE_AS_UTF8 = "save the file as UTF-8 (it may be Latin-1 or Windows-1252)"


def read_csv_rows(file: io.BufferedReader, rows: RowSink) -> None:
    """Give the sink every row of `file`.

    Raises:
        InvalidDataset: the file is not a CSV table.
    """
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
    try:
        _read_records(_BoundedLines(text, rows.limits.max_row_characters), rows)
    finally:
        # The caller opened the file, so the caller closes it.
        text.detach()


class _BoundedLines:
    """Physical lines for csv.reader, with a bound on a row: csv.reader alone collects a row of any size."""

    def __init__(self, text: io.TextIOWrapper, max_row_characters: int) -> None:
        self._text = text
        self._max = max_row_characters
        self._num_read = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._text.readline(self._max + 1)
        self._num_read += len(line)
        if self._num_read > self._max:
            raise csv.Error(f"row larger than {self._max:,} characters")
        if not line:
            raise StopIteration
        return line

    def begin_row(self) -> None:
        self._num_read = 0


def _read_records(lines: _BoundedLines, rows: RowSink) -> None:
    reader = csv.reader(lines, strict=True)
    columns: Columns | None = None
    line = 1
    try:
        for record in reader:
            is_empty = not any(map(str.strip, record))
            if not record or (is_empty and (columns is None or not rows.keeps_bad_rows)):
                rows.skip_blank()
            elif columns is None:
                columns = find_columns(record, rows.columns, rows.field)
                rows.skip_columns(columns.unused)
            else:
                _add_record(record, columns, rows, line)
            line = reader.line_num + 1
            lines.begin_row()
    except csv.Error as error:
        _refuse_unreadable(error, rows, line, is_header=columns is None)
    if columns is None:
        raise DatasetEmpty("the file is empty; it needs named columns, and rows", field=rows.field)


def _add_record(record: list[str], columns: Columns, rows: RowSink, line: int) -> None:
    if len(record) != columns.width:
        fault = (
            f"has {len(record):,} fields where the header has {columns.width:,}; "
            "put quotes round a text with a comma or a line break in it"
        )
        rows.note(None, fault, line=line)
        return
    text, label = record[columns.text], None if columns.label is None else record[columns.label]
    for name, value in ((rows.columns.text, text), (rows.columns.label, label)):
        if value is not None and _NOT_UTF8.search(value):
            rows.note(name, f"holds bytes that are not UTF-8; {_SAVE_AS_UTF8}", line=line)
            return
    rows.add(text, label, line=line)


def _refuse_unreadable(error: csv.Error, rows: RowSink, line: int, *, is_header: bool) -> Never:
    fault = _explain(str(error))
    if is_header:
        raise InvalidDataset(f"the header (line {line}) {fault}", field=rows.field) from None
    rows.stop(fault, line=line)


def _explain(complaint: str) -> str:
    if "unexpected end of data" in complaint:
        return "opens a quote that is never closed; close it, and write a quote inside a text twice"
    if "larger than" in complaint:
        return "has a field or row that is far too long; is a quote left open, or a line break missing?"
    return "has a quote in the wrong place; write a quote inside a quoted text twice"
