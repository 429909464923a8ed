"""Sheets of a workbook: xlsx and ods; of trusted files also the older xls and xlsb.

What a workbook unpacks to is counted before a reader makes cells of it: a small archive may hold any number of them.
"""

import datetime
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from io import BufferedReader
from itertools import zip_longest
from typing import Any, Never

from lens_engine.errors import InvalidDataset
from lens_engine.reading.columns import has_header, is_usual, name_positions
from lens_engine.reading.limits import DatasetTooLarge, ParsingLimits
from lens_engine.reading.table import NAMED_ROWS, NO_CELLS, Row, Table
from lens_engine.task.wording import show_label

_SAMPLE = 1_000
_LEAST_WIDE = 0.2  #: share of the rows with several cells, in a table of several columns
_MOST_SHEETS = 100
_MOST_PARTS = 1_000
_GROWTH = 8  #: largest size of what a workbook unpacks to, for each byte that a file may have: XML is long-winded
_CELLS_A_ROW = 50
"""Most cells for each row that a dataset may have; a reader makes the whole rectangle, however few are filled."""
_CHUNK_BYTES = 2**20
_XLSX_CELL = re.compile(rb'<(?:\w+:)?c\b([^<>]*?)\br="([A-Z]{1,3})(\d{1,7})"([^<>]*)>(?:\s*<(?:\w+:)?v>(\d+)<)?')
_ODS_CELL = re.compile(rb"<table:(table-row|table-cell|covered-table-cell)\b([^<>]*)>")
_TIMES = re.compile(rb'number-(?:rows|columns)-repeated="(\d{1,9})"')
_Range = tuple[tuple[int, int], tuple[int, int]]
"""The first and the last row and column of a merged cell, from 0."""
_STRING = re.compile(rb"<(?:\w+:)?si\b.*?</(?:\w+:)?si>", re.DOTALL)


def is_workbook(file: BufferedReader) -> bool:
    """Whether a zip archive is a workbook that is read."""
    try:
        names = set(zipfile.ZipFile(file).namelist())
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        return False
    return "xl/workbook.xml" in names or "xl/workbook.bin" in names or {"content.xml", "styles.xml"} <= names


def read_workbook(file: BufferedReader, field: str, limits: ParsingLimits, known: tuple[str, ...]) -> Table:
    """The table of the first sheet with a usual name in its header, or else of that with the most rows."""
    try:
        filled, merged = _read_sheets(file, limits, field)
    except BaseException as error:  # a panic of the reader is no Exception
        if isinstance(error, InvalidDataset | KeyboardInterrupt | SystemExit | MemoryError | GeneratorExit):
            raise
        raise InvalidDataset(
            "the workbook is damaged, or locked by a password; save the sheet as CSV (UTF-8)", field=field
        ) from None
    if not filled:
        raise InvalidDataset("the workbook has no sheet with rows", field=field)
    usual = (one for one in filled if _is_row(top := one[1][_find_start(one[1])]) and any(map(is_usual, map(str, top))))
    name, rows = next(usual, None) or max(filled, key=lambda one: sum(map(_is_row, one[1])))
    others = [one for one, _ in filled if one != name]
    limits.check_rows(len(rows) - 1, field)
    kind = f"a workbook, of which the sheet {show_label(name)} is read"
    if others:
        kind += f", and not {', '.join(map(show_label, others[:10]))}"
    width = max(place for row in rows[:_SAMPLE] for place, cell in enumerate(row, start=1) if cell != "")
    start = _find_start(rows)
    kind += f"; its table begins in row {start + 1}" if start else ""
    first, *sample = ([_show(cell) for cell in row[:width]] for row in rows[start : start + _SAMPLE])
    is_header = has_header(first, sample, known)
    names = tuple(first) if is_header else name_positions(width)
    begin = start + is_header
    kind += (
        "; each merged cell is read in all of its rows" if _fill_down(rows, merged[name], begin, limits, field) else ""
    )

    def read() -> Iterator[Row]:
        for number, row in enumerate(rows[begin:], start=begin + 1):
            cells = [_show(cell) for cell in row[:width]]
            if any(cells):
                yield Row(dict(zip_longest(names, cells, fillvalue="")), number)
            else:
                yield Row(NO_CELLS, number, empty="line")

    return Table(names, read, "workbook", kind=kind)


def _read_sheets(
    file: BufferedReader, limits: ParsingLimits, field: str
) -> tuple[list[tuple[str, list[list[Any]]]], dict[str, list[_Range]]]:
    """Name and cells of the sheets with two rows, of hidden ones only if no other has; and merged cells by sheet."""
    try:
        from python_calamine import CalamineWorkbook, SheetVisibleEnum
    except ImportError:
        raise InvalidDataset(
            "the file is a workbook; pip install python-calamine reads it, or save the sheet as CSV (UTF-8)",
            field=field,
        ) from None
    file.seek(0)
    if file.peek(2).startswith(b"PK"):
        _check_size(file, limits, field)
        file.seek(0)
    book = CalamineWorkbook.from_filelike(file)
    names = book.sheet_names[:_MOST_SHEETS]
    found = [book.get_sheet_by_name(name) for name in names]
    sheets: list[list[Any]] = [one.to_python(skip_empty_area=False) for one in found]
    shown = {sheet.name for sheet in book.sheets_metadata if sheet.visible == SheetVisibleEnum.Visible}
    filled = [(name, rows) for name, rows in zip(names, sheets, strict=True) if len(rows) > 1]
    filled = [one for one in filled if any(cell != "" for row in one[1][:_SAMPLE] for cell in row)]
    merged = {name: one.merged_cell_ranges or [] for name, one in zip(names, found, strict=True)}
    return [one for one in filled if one[0] in shown] or filled, merged


def _fill_down(rows: list[list[Any]], merged: list[_Range], begin: int, limits: ParsingLimits, field: str) -> bool:
    """Write the value of each merged cell below the header into all of its rows; whether a row gains one.

    Raises:
        DatasetTooLarge: the values take more than a workbook may unpack to, or the merged cells overlap.
    """
    cells, characters, most = 0, 0, _GROWTH * limits.max_bytes
    for (top, column), (bottom, _) in merged:
        if begin <= top < len(rows) and column < len(rows[top]) and (value := rows[top][column]) != "":
            below = rows[top + 1 : bottom + 1]
            cells, characters = cells + len(below), characters + len(below) * len(str(value))
            if cells > len(rows) * len(rows[0]) or characters > most:
                _refuse(f"{most:,} characters in the rows of merged cells, or merged cells that overlap", field)
            for row in below:
                row[column] = value
    return cells > 0


def _find_start(rows: list[list[Any]]) -> int:
    """The row in which the table begins: the first with several cells, if some rows below have several; or one of the
    next with two usual names that are no values, if the wider rows above it have no usual name, or it is the next one
    and has more cells: titles, and names of groups, stand above.
    """
    filled = [sum(cell != "" for cell in row) for row in rows]
    start = next((number for number, count in enumerate(filled) if count > 1), 0)
    seen = Counter(str(cell) for row in rows[:_SAMPLE] for cell in row)
    has_usual = False
    for number in range(start, min(start + NAMED_ROWS, len(rows))):
        names = [str(cell) for cell in rows[number] if cell != ""]
        usual = sum(seen[name] == 1 and is_usual(name) for name in names)
        is_below = number == start + 1 and filled[number] > filled[start]
        if usual > 1 and (number == start or is_below or not has_usual):
            return number
        has_usual = has_usual or (usual > 0 and len(names) > 1)
    is_table = _LEAST_WIDE * sum(map(bool, filled[start:])) < sum(count > 1 for count in filled[start:])
    return start if is_table else 0


def _is_row(cells: list[Any]) -> bool:
    return len([cell for cell in cells if cell != ""]) > 1


def _show(cell: object) -> str:
    """A cell as a spreadsheet shows it: whole numbers without a point."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, bool):
        return str(cell).lower()
    return cell.isoformat() if isinstance(cell, datetime.date | datetime.time) else str(cell)


class _Sheet:
    """Counts the cells of a sheet, and what their texts take."""

    def __init__(self) -> None:
        self.rows = self.columns = 0  #: of the rectangle of filled cells
        self.num_bytes = 0  #: of their texts, where they are told once and repeated
        self._row = self._column = self._times = 0

    def count_xlsx(self, text: bytes, strings: list[int]) -> None:
        for before, letters, row, after, place in _XLSX_CELL.findall(text):
            if not after.endswith(b"/"):
                self.rows, self.columns = max(self.rows, int(row)), max(self.columns, _place(letters))
                if b't="s"' in before + after and place and int(place) < len(strings):
                    self.num_bytes += strings[int(place)]

    def count_ods(self, text: bytes) -> None:
        found = list(_ODS_CELL.finditer(text))
        ends = [*(one.start() for one in found), len(text)][1:]
        for one, end in zip(found, ends, strict=True):
            repeated = _TIMES.search(one[2])
            times = int(repeated[1]) if repeated else 1
            if one[1] == b"table-row":
                self._row, self._column, self._times = self._row + times, 0, times
                continue
            self._column += times
            if b"value" in one[2]:
                self.rows, self.columns = max(self.rows, self._row), max(self.columns, self._column)
                self.num_bytes += times * self._times * (end - one.end())


def _check_size(file: BufferedReader, limits: ParsingLimits, field: str) -> None:
    """Unpack each part in pieces, and throw it away: the size that an archive tells of itself may be wrong.

    Raises:
        DatasetTooLarge: the workbook unpacks to more than a file may have, or has too many sheets, rows or cells.
        zipfile.BadZipFile, RuntimeError, EOFError, NotImplementedError, ValueError: it is damaged or locked.
    """
    most = _GROWTH * limits.max_bytes
    with zipfile.ZipFile(file) as archive:
        parts = archive.infolist()
        sheets = [part for part in parts if "sheets/sheet" in part.filename or part.filename == "content.xml"]
        if len(parts) > _MOST_PARTS or len(sheets) > _MOST_SHEETS or sum(part.file_size for part in parts) > most:
            _refuse(f"{_MOST_SHEETS} sheets, or unpacks to more than {most:,} bytes", field)
        strings = list[int]()
        for part in sorted(parts, key=lambda one: one in sheets):
            sheet, rest = _Sheet(), b""
            with archive.open(part) as content:
                while chunk := content.read(_CHUNK_BYTES):
                    rest += chunk
                    if part.filename.endswith("sharedStrings.xml"):
                        ends = [one.end() for one in _STRING.finditer(rest)]
                        strings += [end - start for start, end in zip([0, *ends], ends, strict=False)]
                    else:
                        ends = [rest.rfind(b">", 0, rest.rfind(b"<")) + 1]
                        if part in sheets:
                            sheet.count_xlsx(rest[: ends[0]], strings)
                            sheet.count_ods(rest[: ends[0]])
                    rest = rest[ends[-1] :] if ends else rest
                    if sheet.rows > limits.max_rows + 1:
                        _refuse(f"{limits.max_rows:,} rows", field)
                    if sheet.rows * sheet.columns > _CELLS_A_ROW * limits.max_rows or sheet.num_bytes > most:
                        _refuse(
                            f"{_CELLS_A_ROW * limits.max_rows:,} cells, or texts that are repeated too often", field
                        )


def _place(letters: bytes) -> int:
    place = 0
    for letter in letters:
        place = 26 * place + letter - 64
    return place


def _refuse(what: str, field: str) -> Never:
    raise DatasetTooLarge(f"the workbook has more than {what}; keep the sheet of the rows alone", field=field)
