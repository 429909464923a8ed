"""What a workbook unpacks to, before a reader makes cells of it: a small archive may hold any number of them."""

import re
import zipfile
from io import BufferedReader

from lens_engine.reading.errors import DatasetTooLarge
from lens_engine.reading.limits import ParsingLimits

MOST_SHEETS = 100
_MOST_PARTS = 1_000
_GROWTH = 8
"""Largest size of what a workbook unpacks to, for each byte that a file may have: XML is long-winded."""
_CELLS_A_ROW = 50
"""Most cells for each row that a dataset may have; a reader makes the whole rectangle, however few are filled."""
_CHUNK_BYTES = 2**20
_XLSX_CELL = re.compile(rb'<(?:\w+:)?c\b([^<>]*?)\br="([A-Z]{1,3})(\d{1,7})"([^<>]*)>(?:\s*<(?:\w+:)?v>(\d+)<)?')
_ODS_CELL = re.compile(rb"<table:(table-row|table-cell|covered-table-cell)\b([^<>]*)>")
_TIMES = re.compile(rb'number-(?:rows|columns)-repeated="(\d{1,9})"')
_STRING = re.compile(rb"<(?:\w+:)?si\b.*?</(?:\w+:)?si>", re.DOTALL)


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


def check_workbook(file: BufferedReader, limits: ParsingLimits, field: str) -> None:
    """Unpack each part in pieces, and throw it away: the size that an archive tells of itself may be wrong.

    Raises:
        DatasetTooLarge: the workbook unpacks to more than a file may have, or has too many sheets, rows or cells.
        zipfile.BadZipFile, RuntimeError, EOFError, NotImplementedError, ValueError: it is damaged or locked.
    """
    most = _GROWTH * limits.max_bytes
    with zipfile.ZipFile(file) as archive:
        parts = archive.infolist()
        sheets = [part for part in parts if "sheets/sheet" in part.filename or part.filename == "content.xml"]
        if len(parts) > _MOST_PARTS or len(sheets) > MOST_SHEETS or sum(part.file_size for part in parts) > most:
            _refuse(f"{MOST_SHEETS} sheets, or unpacks to more than {most:,} bytes", field)
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


def _refuse(what: str, field: str) -> None:
    """
    Raises:
        DatasetTooLarge: always.
    """
    raise DatasetTooLarge(f"the workbook has more than {what}; keep the sheet of the rows alone", field=field)
