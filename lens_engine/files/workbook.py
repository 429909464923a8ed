"""The table of a workbook (xlsx): the texts of its cells, as a spreadsheet shows them."""

import re
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from io import BufferedReader
from itertools import dropwhile, zip_longest
from posixpath import join, normpath
from typing import Never
from xml.parsers import expat

from lens_engine.errors import InvalidDataset
from lens_engine.files.columns import MAX_COLUMNS, find_start, has_header, is_usual, name_positions
from lens_engine.files.limits import DatasetTooLarge, ParsingLimits
from lens_engine.files.table import NO_CELLS, Row, Table
from lens_engine.files.text_file import UTF8, FoundDialect
from lens_engine.prompt.wording import show_label

_CHUNK_BYTES = 2**18
_LONGEST = 2**20  #: bytes of a tag and of the archive's directory, and characters of a text
_DEEPEST = 100
_MOST_NAMES = 1_000  #: of elements and attributes; expat keeps each
_LISTED = 500  #: what an element takes that is kept (bytes), without its values

Attributes = dict[str, str]


# What the parts unpack to, and what a reader keeps of them, is counted on the way: a small archive may hold any number
# of elements, and repeat a long text in each.
class _Frugal:
    """A file that is not read at once: a directory of many parts takes far more memory than bytes."""

    def __init__(self, file: BufferedReader) -> None:
        self._file, self.seek, self.tell, self.seekable = file, file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        found = self._file.read(size if 0 <= size <= _LONGEST else _LONGEST + 1)
        if len(found) > _LONGEST:
            raise zipfile.BadZipFile("the directory is too long")
        return found


class Parts:
    """The parts of an archive, all of which may unpack to `most` bytes, and fill as many with what is kept of them.

    Raises:
        zipfile.BadZipFile, NotImplementedError, ValueError: the file is no archive, or a damaged one.
    """

    def __init__(self, file: BufferedReader, most: int, field: str) -> None:
        self._archive = zipfile.ZipFile(_Frugal(file))
        self._parts = {one.filename.replace("\\", "/").casefold(): one for one in self._archive.infolist()}
        self._most, self._field, self._unpacked, self._kept = most, field, 0, 0

    def __contains__(self, name: str) -> bool:
        return name.casefold() in self._parts

    def keep(self, num_bytes: int) -> None:
        """Count what is kept."""
        self._kept += num_bytes
        if self._kept > self._most:
            self.refuse(f"{self._most:,} bytes in its cells, each with its whole text")

    def refuse(self, what: str) -> Never:
        advice = "keep the sheet and the columns of the rows alone"
        raise DatasetTooLarge(f"the workbook has more than {what}; {advice}", field=self._field)

    def read(self, name: str, start: Callable[[str, Attributes], None], end: Callable[[str, str], None]) -> None:
        """Tell the elements of a part: their names without prefixes, their attributes, and the text before their ends.

        Raises:
            Exception: the part is missing or damaged, or no XML of a workbook.
        """
        elements = _Elements(self, start, end)
        part, fed = self._parts[name.casefold()], 0
        if part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others unpack without a limit
            raise NotImplementedError
        with self._archive.open(part) as content:
            while chunk := content.read(_CHUNK_BYTES):
                fed, self._unpacked = fed + len(chunk), self._unpacked + len(chunk)
                if self._unpacked > self._most:
                    self.refuse(f"{self._most:,} bytes when it is unpacked")
                elements.feed(chunk, fed)
        elements.feed(b"", fed, is_last=True)

    def list_elements(self, name: str, *tags: str) -> list[tuple[str, Attributes]]:
        """The elements of a part with these tags, and their attributes without prefixes."""
        found = list[tuple[str, Attributes]]()

        def start(tag: str, attributes: Attributes) -> None:
            if tag in tags:
                self.keep(_LISTED + sum(map(len, attributes.values())))
                found.append((tag, {one.rpartition(":")[2]: value for one, value in attributes.items()}))

        self.read(name, start, lambda *_: None)
        return found


class _Elements:
    """Takes a part in pieces; no element may be deep, none has a name of its own, and none is without an end."""

    def __init__(self, parts: Parts, start: Callable[[str, Attributes], None], end: Callable[[str, str], None]) -> None:
        self._parts, self._start, self._end = parts, start, end
        self._text, self._depth = list[str](), 0
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text, parser.buffer_size = True, 2**16
        parser.StartElementHandler, parser.EndElementHandler = self._begin, self._finish
        parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = self._text.append, self._refuse_entities

    def feed(self, chunk: bytes, fed: int, *, is_last: bool = False) -> None:
        parser = self._parser
        parser.Parse(chunk, is_last)
        if self._depth > _DEEPEST or len(parser.intern) > _MOST_NAMES or fed - parser.CurrentByteIndex > _LONGEST:
            raise ValueError("no XML of a workbook")
        if sum(map(len, self._text)) > _LONGEST:
            self._parts.refuse(f"{_LONGEST:,} characters in a text")

    def _begin(self, tag: str, attributes: Attributes) -> None:
        self._depth += 1
        self._text.clear()
        self._start(tag.rpartition(":")[2], attributes)

    def _finish(self, tag: str) -> None:
        self._depth -= 1
        self._end(tag.rpartition(":")[2], "".join(self._text))
        self._text.clear()

    def _refuse_entities(self, *_: object) -> Never:
        raise ValueError("entities")


_GROWTH = 4  #: largest size of what a workbook unpacks to, and of what is kept of it, for each byte a file may have
_LEAST, _RATIO = 2**23, 40
"""The same of a small workbook (bytes): `_LEAST`, and `_RATIO` for each of its bytes. Sheets are packed to a tenth."""
_MOST_SHEETS = 100
_ROW, _CELL = 200, 8  #: what a row and a cell take (bytes), without the text
_LETTERS = re.compile("[A-Za-z]{1,3}")  #: of a column
_ESCAPED = re.compile("_x00([0-9A-Fa-f]{2})_")
_EPOCH, _DAYS_TO_1904, _LEAP_DAY = datetime(1899, 12, 30), 1462, 60  #: Excel counts a day 60, 29 February 1900
_DATES = {*map(str, (*range(14, 23), 45, 47))}  #: formats of dates and times that are not written down
_NO_PART = re.compile(r'"[^"]*+"?|[\\_*].|\[[^\]]*+\]?|;.*', re.DOTALL)  #: letters, colours, further parts of a format
_DURATION, _DATE = re.compile(r"\[[hms]+\]", re.IGNORECASE), re.compile("[dhmsy]", re.IGNORECASE)
_LONGEST_FORMAT = 255
_SAMPLE = 1_000  #: rows by which a sheet is looked at


def is_workbook(file: BufferedReader) -> bool:
    """Whether a zip archive is a workbook."""
    try:
        return "xl/workbook.xml" in Parts(file, 0, "")
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        return False


def read_workbook(file: BufferedReader, field: str, limits: ParsingLimits, known: tuple[str, ...]) -> Table:
    """The table of the first sheet with a usual name in its header, or else of that with the most rows."""
    try:
        sheets = read_sheets(file, limits, field)
    except Exception as error:
        if isinstance(error, InvalidDataset | MemoryError):
            raise
        told = "the workbook is damaged, or locked by a password; save the sheet as CSV (UTF-8)"
        raise InvalidDataset(told, field=field) from None
    filled = [(name, rows) for name, rows in sheets if any(map(any, rows[:_SAMPLE]))]
    if not filled:
        raise InvalidDataset("the workbook has no sheet with rows", field=field)
    tops = ((sheet, list(filter(None, sheet[1][find_start(sheet[1][:_SAMPLE], known)]))) for sheet in filled)
    usual = next((sheet for sheet, top in tops if len(top) > 1 and any(map(is_usual, top))), None)
    name, rows = usual or max(filled, key=lambda one: sum(len(list(filter(None, row))) > 1 for row in one[1]))
    others = [one for one, _ in filled if one != name]
    limits.check_rows(len(rows) - 1, field)
    kind = f"a workbook, of which the sheet {show_label(name)} is read"
    if others:
        kind += f", and not {', '.join(map(show_label, others[:10]))}"
    width, start = max(map(len, rows[:_SAMPLE])), find_start(rows[:_SAMPLE], known)
    kind += f"; its table begins in row {start + 1}" if start else ""
    first, *sample = ([*row[:width], *[""] * (width - len(row))] for row in rows[start : start + _SAMPLE])
    is_header = has_header(first, sample, known)
    names = tuple(first) if is_header else name_positions(width)

    def read() -> Iterator[Row]:
        for number, row in enumerate(rows[start + is_header :], start=start + is_header + 1):
            if any(cells := row[:width]):
                yield Row(dict(zip_longest(names, cells, fillvalue="")), number)
            else:
                yield Row(NO_CELLS, number, empty="line")

    return Table(
        names, read, "workbook", FoundDialect(UTF8), kind=kind
    )  # a CSV made from it is opened by a spreadsheet


def read_sheets(file: BufferedReader, limits: ParsingLimits, field: str) -> list[tuple[str, list[Sequence[str]]]]:
    """Names and rows of the sheets with two rows; of hidden ones only if no other has. A row has the texts of the cells
    from the first column to the last that is filled.
    """
    most = min(_GROWTH * limits.max_bytes, _LEAST + _RATIO * file.seek(0, 2))
    parts = Parts(file, most, field)
    targets = {one["Id"]: one["Target"] for _, one in parts.list_elements("xl/_rels/workbook.xml.rels", "Relationship")}
    listed = [one for _, one in parts.list_elements("xl/workbook.xml", "sheet")][:_MOST_SHEETS]
    book = _Book(parts, limits.max_rows)
    for is_shown in (True, False):
        sheets = [one for one in listed if (one.get("state", "visible") == "visible") is is_shown]
        found = [(one["name"], book.read_rows(normpath(join("/xl", targets[one["id"]]))[1:])) for one in sheets]
        if filled := [(name, rows) for name, rows in found if len(rows) > 1]:
            return filled
    return []


class _Book:
    """What all sheets share: texts, and which formats of cells are those of dates."""

    def __init__(self, parts: Parts, max_rows: int) -> None:
        self.parts, self.max_rows = parts, max_rows
        texts = _Texts(parts)
        if "xl/sharedStrings.xml" in parts:
            parts.read("xl/sharedStrings.xml", texts.start, texts.end)
        self.strings, self.dates = texts.found, set[str]()
        if "xl/styles.xml" in parts:
            styles = parts.list_elements("xl/styles.xml", "numFmt", "cellXfs", "xf")
            codes = {one.get("numFmtId"): one.get("formatCode", "") for tag, one in styles if tag == "numFmt"}
            used = [one.get("numFmtId", "") for _, one in list(dropwhile(lambda one: one[0] != "cellXfs", styles))[1:]]
            self.dates = {str(place) for place, one in enumerate(used) if _is_date(codes.get(one), one)}
        settings = parts.list_elements("xl/workbook.xml", "workbookPr")
        self.is_1904 = any(one.get("date1904") in ("1", "true") for _, one in settings)

    def read_rows(self, name: str) -> list[Sequence[str]]:
        cells = _Cells(self)
        self.parts.read(name, cells.start, cells.end)
        return [cells.rows.get(number, ()) for number in range(max(cells.rows, default=-1) + 1)]


class _Texts:
    """Texts, each in one or several pieces, without what is written above them to say how they are read aloud."""

    def __init__(self, parts: Parts) -> None:
        self.found = list[str]()
        self._parts, self._pieces, self._is_above, self._keeps_spaces = parts, list[str](), False, False

    def start(self, tag: str, attributes: Attributes) -> None:
        if tag == "t":
            self._keeps_spaces = attributes.get("xml:space") == "preserve"
        elif tag == "rPh":
            self._is_above = True

    def end(self, tag: str, text: str) -> None:
        if tag == "t" and not self._is_above:
            text = text if self._keeps_spaces else text.strip(" \t\r\n")
            self._parts.keep(sys.getsizeof(text))
            self._pieces.append(_ESCAPED.sub(lambda one: chr(int(one[1], 16)), text))
        elif tag == "rPh":
            self._is_above = False
        elif tag in ("si", "is"):
            self.found.append("".join(self._pieces))
            self._pieces.clear()


class _Cells(_Texts):
    """The cells of a sheet. One without a reference follows the cell before it; so does a row."""

    def __init__(self, book: _Book) -> None:
        super().__init__(book.parts)
        self.rows = dict[int, list[str]]()
        self._book, self._row, self._column = book, -1, 0
        self._cell: Attributes = {}
        self._value = ""

    def start(self, tag: str, attributes: Attributes) -> None:
        if tag == "c":
            self._cell, self._value = attributes, ""
        elif tag == "row":
            self._row, self._column = int(attributes["r"]) - 1 if "r" in attributes else self._row + 1, 0
        else:
            super().start(tag, attributes)

    def end(self, tag: str, text: str) -> None:
        if tag == "v":
            if self._cell.get("t") not in ("inlineStr", "is"):
                self._value = self._show(text, self._cell.get("t", "n"))
        elif tag == "c":
            row = self._row
            if reference := self._cell.get("r"):
                letters = reference.rstrip("0123456789")
                row, self._column = int(reference[len(letters) :]) - 1, _place(letters)
            if self._value:
                self._put(row)
            self._column += 1
        else:
            super().end(tag, text)
            if tag == "is":
                self._value = self.found.pop()

    def _show(self, text: str, kind: str) -> str:
        if kind == "s":
            return self._book.strings[int(text)] if text else ""
        if kind in ("b", "e"):
            return "" if kind == "e" else "false" if text == "0" else "true"
        self._parts.keep(sys.getsizeof(text))
        if kind != "n":
            return text
        return _show_number(text, is_date=self._cell.get("s") in self._book.dates, is_1904=self._book.is_1904)

    def _put(self, number: int) -> None:
        most = self._book.max_rows
        if number > most or self._column >= MAX_COLUMNS:
            self._parts.refuse(f"{most:,} rows" if number > most else f"{MAX_COLUMNS:,} columns")
        row = self.rows.get(number)
        if row is None:
            self._parts.keep(_ROW)
            row = self.rows[number] = []
        missing = max(self._column + 1 - len(row), 0)
        self._parts.keep(_CELL * missing + len(self._value))
        row.extend([""] * missing)
        row[self._column] = self._value


@lru_cache(maxsize=MAX_COLUMNS)
def _place(letters: str) -> int:
    if _LETTERS.fullmatch(letters) is None:
        raise ValueError(letters)
    place = 0
    for letter in letters.upper():
        place = 26 * place + ord(letter) - 64
    return place - 1


def _is_date(code: str | None, number: str) -> bool:
    """Whether a format of numbers shows dates: by its code, or by its number if it has none."""
    if code is None:
        return number in _DATES
    code = code[:_LONGEST_FORMAT]
    return not _DURATION.search(code) and _DATE.search(_NO_PART.sub("", code)) is not None


def _show_number(text: str, *, is_date: bool, is_1904: bool) -> str:
    """A number as a spreadsheet shows it: whole ones without a point, days since 1900 as a date, a time or both."""
    try:
        number = float(text)
        if is_date and number >= 0:
            days = number + _DAYS_TO_1904 * is_1904
            moment = _EPOCH + timedelta(milliseconds=round(86_400_000 * (days + (days < _LEAP_DAY))))
            shown = moment.time() if number < 1 else moment.date() if number.is_integer() else moment
            return shown.isoformat()
        return str(int(number)) if number.is_integer() else str(number)
    except (ValueError, OverflowError):
        return text
