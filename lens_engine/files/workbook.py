"""The table of a workbook (xlsx): the texts of its cells, as they are stored.

What the parts of the archive unpack to, and what is kept of them, is counted on the way: a small archive may hold any
number of elements, and repeat a long text in each.
"""

import re
import sys
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from io import BufferedReader
from itertools import zip_longest
from posixpath import join, normpath
from typing import NamedTuple, Never
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
_LISTED, _ROW, _CELL = 500, 200, 8  #: what a kept element, a row and a cell take (bytes), without their values
_GROWTH = 4  #: largest size of what a workbook unpacks to, and of what is kept of it, for each byte a file may have
_LEAST, _RATIO = 2**23, 40
"""The same of a small workbook (bytes): `_LEAST`, and `_RATIO` for each of its bytes. Sheets are packed to a tenth."""
_MOST_SHEETS = 100
_SAMPLE = 1_000  #: rows by which a sheet is looked at
_LETTERS = re.compile("[A-Za-z]{1,3}")  #: of a column
_ESCAPED = re.compile("_x00([0-9A-Fa-f]{2})_")


class _Element(NamedTuple):
    tag: str  #: without a prefix
    attributes: dict[str, str]
    text: str  #: before the end


class _Frugal:
    """A file that is not read at once: a directory of many parts takes far more memory than bytes."""

    def __init__(self, file: BufferedReader) -> None:
        self._file, self.seek, self.tell, self.seekable = file, file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        found = self._file.read(size if 0 <= size <= _LONGEST else _LONGEST + 1)
        if len(found) > _LONGEST:
            raise zipfile.BadZipFile("the directory is too long")
        return found


class _Parts:
    """The parts of an archive, all of which may unpack to `most` bytes, and fill as many with what is kept of them.
    Raises zipfile.BadZipFile, NotImplementedError or ValueError if the file is no archive, or a damaged one.
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

    def read(self, name: str) -> Iterator[_Element]:
        """The elements of a part where they end, but a row where it begins. The text of `si` and `is` is all of it, but
        for what is written above it to say how it is read aloud.

        Raises:
            Exception: the part is missing or damaged, or no XML of a workbook: an element is deep, has a name of its
                own, or is without an end.
        """
        part, parser, fed = self._parts[name.casefold()], expat.ParserCreate(), 0
        if part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others unpack without a limit
            raise NotImplementedError
        found, above, text, pieces = list[_Element](), list[_Element](), list[str](), list[str]()

        def begin(tag: str, attributes: dict[str, str]) -> None:
            text.clear()
            if len(above) > _DEEPEST:
                raise ValueError("no XML of a workbook")
            above.append(_Element(tag.rpartition(":")[2], attributes, ""))
            if above[-1].tag == "row":
                found.append(above[-1])

        def finish(_: str) -> None:
            one = above.pop()._replace(text="".join(text))
            text.clear()
            if one.tag == "t" and all(outer.tag != "rPh" for outer in above):
                shown = one.text if one.attributes.get("xml:space") == "preserve" else one.text.strip(" \t\r\n")
                self.keep(sys.getsizeof(shown))
                pieces.append(_ESCAPED.sub(lambda code: chr(int(code[1], 16)), shown))
            elif one.tag in ("si", "is"):
                one = one._replace(text="".join(pieces))
                pieces.clear()
            if one.tag != "row":
                found.append(one)

        parser.buffer_text, parser.buffer_size = True, 2**16
        parser.StartElementHandler, parser.EndElementHandler = begin, finish
        parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = text.append, _refuse_entities
        with self._archive.open(part) as content:
            while chunk := content.read(_CHUNK_BYTES):
                fed, self._unpacked = fed + len(chunk), self._unpacked + len(chunk)
                if self._unpacked > self._most:
                    self.refuse(f"{self._most:,} bytes when it is unpacked")
                parser.Parse(chunk, False)
                if len(parser.intern) > _MOST_NAMES or fed - parser.CurrentByteIndex > _LONGEST:
                    raise ValueError("no XML of a workbook")
                if sum(map(len, text)) > _LONGEST:
                    self.refuse(f"{_LONGEST:,} characters in a text")
                yield from found
                found.clear()
        parser.Parse(b"", True)
        yield from found  # expat may have waited for the end

    def list_elements(self, name: str, tag: str) -> list[dict[str, str]]:
        """The attributes, without prefixes, of the elements of a part with this tag."""
        found = list[dict[str, str]]()
        for one in self.read(name):
            if one.tag == tag:
                self.keep(_LISTED + sum(map(len, one.attributes.values())))
                found.append({key.rpartition(":")[2]: value for key, value in one.attributes.items()})
        return found


def _refuse_entities(*_: object) -> Never:
    raise ValueError("entities")


def is_workbook(file: BufferedReader) -> bool:
    """Whether a zip archive is a workbook."""
    try:
        return "xl/workbook.xml" in _Parts(file, 0, "")
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        return False


def read_workbook(file: BufferedReader, field: str, limits: ParsingLimits, known: tuple[str, ...]) -> Table:
    """The table of the first sheet with a usual name in its header, or else of the first."""
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
    name, rows = next((sheet for sheet, top in tops if len(top) > 1 and any(map(is_usual, top))), filled[0])
    others = [one for one, _ in filled if one != name]
    width, start = max(map(len, rows[:_SAMPLE])), find_start(rows[:_SAMPLE], known)
    kind = f"a workbook, of which the sheet {show_label(name)} is read"
    kind += f", and not {', '.join(map(show_label, others[:10]))}" if others else ""
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

    dialect = FoundDialect(UTF8)  # a spreadsheet opens a CSV file made from it
    return Table(names, read, "workbook", dialect, kind=kind)


def read_sheets(file: BufferedReader, limits: ParsingLimits, field: str) -> list[tuple[str, list[Sequence[str]]]]:
    """Names and rows of the sheets with two rows; of hidden ones only if no other has. A row has the texts of the cells
    from the first column to the last that is filled.
    """
    most = min(_GROWTH * limits.max_bytes, _LEAST + _RATIO * file.seek(0, 2))
    parts = _Parts(file, most, field)
    targets = {one["Id"]: one["Target"] for one in parts.list_elements("xl/_rels/workbook.xml.rels", "Relationship")}
    listed = parts.list_elements("xl/workbook.xml", "sheet")[:_MOST_SHEETS]
    has_strings = "xl/sharedStrings.xml" in parts
    strings = [one.text for one in parts.read("xl/sharedStrings.xml") if one.tag == "si"] if has_strings else []
    for is_shown in (True, False):
        filled = list[tuple[str, list[Sequence[str]]]]()
        for one in listed:
            if (one.get("state", "visible") == "visible") is is_shown:
                rows = _read_cells(parts, normpath(join("/xl", targets[one["id"]]))[1:], strings, limits.max_rows)
                if rows and (last := max(rows)) > 0:
                    filled.append((one["name"], [rows.get(number, ()) for number in range(last + 1)]))
        if filled:
            break
    return filled


def _read_cells(parts: _Parts, name: str, strings: Sequence[str], max_rows: int) -> dict[int, list[str]]:
    """The cells of a sheet by their rows. A cell without a reference follows the one before it; so does a row."""
    rows, row, column, inner = dict[int, list[str]](), -1, 0, dict[str, str]()
    for tag, attributes, text in parts.read(name):
        if tag == "row":
            row, column = int(attributes["r"]) - 1 if "r" in attributes else row + 1, 0
        elif tag in ("v", "is"):
            inner[tag] = text
        elif tag == "c":
            number, kind = row, attributes.get("t", "n")
            if reference := attributes.get("r"):
                letters = reference.rstrip("0123456789")
                number, column = int(reference[len(letters) :]) - 1, _place(letters)
            is_inline = kind in ("inlineStr", "is") or "v" not in inner
            value = inner.get("is", "") if is_inline else _show(parts, inner["v"], kind, strings)
            inner.clear()
            if value:
                if number > max_rows or column >= MAX_COLUMNS:
                    parts.refuse(f"{max_rows:,} rows" if number > max_rows else f"{MAX_COLUMNS:,} columns")
                if number not in rows:
                    parts.keep(_ROW)
                missing = max(column + 1 - len(cells := rows.setdefault(number, [])), 0)
                parts.keep(_CELL * missing + len(value))
                cells += [""] * missing
                cells[column] = value
            column += 1
    return rows


def _show(parts: _Parts, text: str, kind: str, strings: Sequence[str]) -> str:
    """The value of a cell as a spreadsheet shows it: a whole number without a point. Dates are their number of days."""
    if kind == "s":
        return strings[int(text)] if text else ""
    if kind in ("b", "e"):
        return "" if kind == "e" else "false" if text == "0" else "true"
    parts.keep(sys.getsizeof(text))
    if kind == "n":
        with suppress(ValueError, OverflowError):
            number = float(text)
            return str(int(number) if number.is_integer() else number)
    return text


@lru_cache(maxsize=MAX_COLUMNS)
def _place(letters: str) -> int:
    if _LETTERS.fullmatch(letters) is None:
        raise ValueError(letters)
    place = 0
    for letter in letters.upper():
        place = 26 * place + ord(letter) - 64
    return place - 1
