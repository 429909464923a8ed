"""Sheets of a workbook: xlsx and ods; of trusted files also the older xls and xlsb."""

import datetime
import zipfile
import zlib
from collections.abc import Iterator
from io import BufferedReader
from itertools import zip_longest

from lens_engine.errors import InvalidDataset
from lens_engine.reading.errors import DatasetTooLarge
from lens_engine.reading.limits import ParsingLimits
from lens_engine.reading.shapes.header import has_header, name_positions
from lens_engine.reading.shapes.workbook_size import MOST_SHEETS, check_workbook
from lens_engine.reading.table import NO_CELLS, Row, Table
from lens_engine.task.wording import show_label

_DAMAGES = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    NotImplementedError,
    RuntimeError,
    EOFError,
    ValueError,
)
_SAMPLE = 1_000


def is_workbook(file: BufferedReader) -> bool:
    """Whether a zip archive is a workbook that is read."""
    try:
        names = set(zipfile.ZipFile(file).namelist())
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        return False
    return "xl/workbook.xml" in names or "xl/workbook.bin" in names or {"content.xml", "styles.xml"} <= names


def read_workbook(file: BufferedReader, limits: ParsingLimits, field: str, known: tuple[str, ...]) -> Table:
    """The table of the first sheet with rows.

    Raises:
        DatasetTooLarge: the workbook unpacks to more than a file may have, or has too many sheets or columns.
        InvalidDataset: it is damaged, or locked by a password.
    """
    file.seek(0)
    if file.peek(2).startswith(b"PK"):
        try:
            check_workbook(file, limits, field)
        except InvalidDataset:
            raise
        except _DAMAGES:
            raise _damaged(field) from None
    rows, note = _read_sheet(file, field)
    if not rows:
        raise InvalidDataset("the workbook has no sheet with rows", field=field)
    if len(rows) > limits.max_rows + 1:
        raise DatasetTooLarge(f"the dataset has more than {limits.max_rows:,} rows; send a sample of it", field=field)
    width = max(place for row in rows[:_SAMPLE] for place, cell in enumerate(row, start=1) if cell != "")
    start = next((number for number, row in enumerate(rows) if sum(cell != "" for cell in row) > 1), 0)
    note += f"; its table begins in row {start + 1}" if start else ""
    rows = rows[start:]
    first, others = (
        [_show(cell) for cell in rows[0][:width]],
        [list(map(_show, row[:width])) for row in rows[1:_SAMPLE]],
    )
    is_header = has_header(first, others, known)
    names = tuple(first) if is_header else name_positions(width)

    def read() -> Iterator[Row]:
        for number, row in enumerate(rows[is_header:], start=start + 1 + is_header):
            cells = [_show(cell) for cell in row[:width]]
            if any(cells):
                yield Row(dict(zip_longest(names, cells, fillvalue="")), number)
            else:
                yield Row(NO_CELLS, number, empty="line")

    return Table(names, read, "workbook", kind=note)


def _read_sheet(file: BufferedReader, field: str) -> tuple[list[list[object]], str]:
    """The cells of the first sheet with two rows, and what is to be said of the others."""
    try:
        from python_calamine import CalamineWorkbook
    except ImportError:
        raise InvalidDataset(
            "the file is a workbook; pip install python-calamine reads it, or save the sheet as CSV (UTF-8)",
            field=field,
        ) from None
    file.seek(0)
    try:
        book = CalamineWorkbook.from_filelike(file)
        filled = [(name, rows) for name in book.sheet_names[:MOST_SHEETS] if len(rows := _clean(book, name)) > 1]
    except BaseException as error:  # a panic of the reader is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError | GeneratorExit):
            raise
        raise _damaged(field) from None
    if not filled:
        return [], ""
    (name, rows), *others = filled
    more = f", and not {', '.join(show_label(one) for one, _ in others[:10])}" if others else ""
    return rows, f"a workbook, of which the sheet {show_label(name)} is read{more}"


def _clean(book: object, name: str) -> list[list[object]]:
    return list(book.get_sheet_by_name(name).to_python(skip_empty_area=False))  # type: ignore[attr-defined]


def _show(cell: object) -> str:
    """A cell as a spreadsheet shows it: whole numbers without a point."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, bool):
        return str(cell).lower()
    return cell.isoformat() if isinstance(cell, datetime.date | datetime.time) else str(cell)


def _damaged(field: str) -> InvalidDataset:
    return InvalidDataset(
        "the workbook is damaged, or locked by a password; save the sheet as CSV (UTF-8)", field=field
    )
