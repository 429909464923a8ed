"""A text file that is read several times, from its beginning: its lines, and the records of CSV in lines.

The quotes of records are read in one of several ways. A broken record costs a row, if its end is found, or else a line.
"""

import csv
import io
import re
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from lens_engine.errors import InvalidDataset
from lens_engine.reading.dialect import UTF8, FoundDialect, quote_around, show_encoding, tell_place
from lens_engine.reading.limits import FIELD_TOO_LONG, DatasetTooLarge, ParsingLimits, row_too_long
from lens_engine.reading.shapes.record_ends import RecordEnds
from lens_engine.reading.table import Fault

NUM_HEAD_CHARACTERS = 64 * 1024  #: by which a shape is recognised
_ENCLOSED = re.compile(r'"((?:[^"\r\n]|"")*+)"([\r\n]*)')
_LINE_ENDS = ("\n", "\r\n", "\r")
_PATIENCE, _FARTHEST = 2**14, 2**22
"""Characters that may be read again at first, and twice as many for the look at the end of a broken record; the most
among which it is looked for."""
_EXPLAINED = 10_000  #: characters of a broken record in which the quote that breaks it is looked for

QuoteCharacter = Literal['"', "'", ""]


@dataclass(frozen=True)
class TextFile:
    """A text file. Its shape is told by the content."""

    file: io.BufferedReader
    dialect: FoundDialect
    limits: ParsingLimits
    field: str
    delimiter: str | None = None  #: that the caller named
    usual_delimiter: str | None = None  #: of earlier files
    known: tuple[str, ...] = ()  #: names of columns that the caller knows
    is_enclosed: bool = False  #: whether each line has quotes round it, which are no part of it

    @cached_property
    def head(self) -> str:
        with self._open() as text:
            return text.read(NUM_HEAD_CHARACTERS)

    @cached_property
    def head_lines(self) -> list[str]:
        """The first lines, with their ends; without the last if it may be cut off."""
        lines = list(map(self._disclose, io.StringIO(self.head, newline="").readlines()))
        return lines[:-1] if len(self.head) >= NUM_HEAD_CHARACTERS and len(lines) > 1 else lines

    @cached_property
    def text(self) -> str:
        """The whole text; one with more values than the rows of a dataset may have is refused."""
        with self._open() as opened:
            text = opened.read()
        most = 100 * self.limits.max_rows
        if sum(map(text.count, ",[{")) > most:
            raise DatasetTooLarge(f"the file holds more than {most:,} values; send a sample of it", field=self.field)
        return text

    def lines(self, newline: str = "\n") -> Iterator[str]:
        """The lines, with their ends (`newline` as of `open`). One longer than a row may be comes cut, a character too
        long.
        """
        longest = self.limits.max_row_characters
        with self._open(newline) as text:
            while line := text.readline(longest + 1):
                yield self._disclose(line)
                while len(line) > longest and line[-1] not in "\r\n":
                    line = text.readline(longest + 1) or "\n"

    def _disclose(self, line: str) -> str:
        found = _ENCLOSED.fullmatch(line) if self.is_enclosed else None
        return line if found is None else found[1].replace('""', '"') + found[2]

    def numbered_lines(self) -> Iterator[tuple[int, str]]:
        """The lines that are not blank, without their ends and outer spaces, with their numbers from 1."""
        num_blank = 0
        for number, line in enumerate(self.lines(""), start=1):
            if stripped := line.strip():
                yield number, stripped
            else:
                num_blank += 1
                self.limits.check_blank(num_blank, self.field)

    @contextmanager
    def _open(self, newline: str = "") -> Iterator[io.TextIOWrapper]:
        """The file as text, from its beginning. A byte that is not of the encoding becomes a surrogate."""
        encoding = self.dialect.encoding
        self.file.seek(0)
        codec = "utf-8-sig" if encoding == UTF8 else encoding
        text = io.TextIOWrapper(self.file, encoding=codec, errors="surrogateescape", newline=newline)
        try:
            yield text
        except UnicodeError:  # UTF-16 without its mark has no decode error
            raise InvalidDataset(
                f"the file holds bytes that are not {show_encoding(encoding)}; name its encoding (encoding), or save "
                "it as UTF-8",
                field=self.field,
            ) from None
        finally:
            with suppress(ValueError):  # an error may keep this generator for longer than the file is open
                text.detach()


class Quoting(NamedTuple):
    """How the quotes of a file are read."""

    character: QuoteCharacter = '"'  #: that encloses fields; "" if none does, so that quotes are letters
    has_escapes: bool = False  #: whether a backslash before it makes it a letter
    skips_spaces: bool = False  #: whether a field begins after the spaces that follow a delimiter

    def mend(self, line: str) -> str:
        """The line with quotes that are letters after a backslash written twice."""
        return line.replace(f"\\{self.character}", self.character * 2)


class Record(NamedTuple):
    """One record, or a line that is none."""

    line: int  #: on which it begins, from 1
    lines: list[str]
    fields: list[str]  #: none if it has a fault
    fault: Fault | None = None
    is_right: bool = False  #: whether a record with a fault has all of its lines, and right quotes: it is only long

    @property
    def is_blank(self) -> bool:
        return self.fault is None and not any(map(str.strip, self.fields))


def read_records(lines: Iterable[str], delimiter: str, quoting: Quoting, longest: int) -> Iterator[Record]:
    """The records of lines, each of at most `longest` characters. A quote that breaks one costs one line."""
    style: Literal[0, 3] = csv.QUOTE_MINIMAL if quoting.character else csv.QUOTE_NONE
    quote = quoting.character or None
    spaces = quoting.skips_spaces
    dialect = csv.reader(
        [], strict=True, delimiter=delimiter, quotechar=quote, quoting=style, skipinitialspace=spaces
    ).dialect
    source, taken, first, width = _Lines(map(quoting.mend, lines) if quoting.has_escapes else lines), list[str](), 1, 0
    reader = csv.reader(_take_lines(source, taken, longest), dialect)
    ends = RecordEnds(delimiter, quote or "\0", skips_spaces=spaces)
    for line in source:
        if line in _LINE_ENDS:  # as csv.reader reads it, but ten times as fast
            yield Record(first, [line], [])
            first += 1
            continue
        source.waiting.appendleft(line)
        fields, complaint = list[str](), ""
        try:
            fields = next(reader)
        except csv.Error as error:
            complaint = str(error)
        if not complaint:
            width = len(fields)
            yield Record(first, taken.copy(), fields)
        else:
            fault = _explain(complaint, Record(first, taken, fields), delimiter, quoting.character)
            is_right = ends.find(source.look_ahead(taken), width) if source.patience > 0 else None
            if is_right is None and source.patience > 0:
                source.put_back(taken[1:])
                del taken[1:]
            if is_right is None:
                yield from (Record(number, [line], [], fault) for number, line in enumerate(taken, start=first))
            else:
                yield Record(first, taken.copy(), [], fault, is_right)
            reader = csv.reader(_take_lines(source, taken, longest), dialect)
        first += len(taken)
        taken.clear()


class _Lines:
    """Lines that can be put back: of each two characters one, or else every line could cost all lines below it."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.patience = 2 * _PATIENCE  #: number of characters that may be put back
        self.waiting, self._fresh = deque[str](), iter(lines)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self.waiting:
            return self.waiting.popleft()
        line = next(self._fresh)
        self.patience += 2 * len(line)
        return line

    def put_back(self, lines: list[str]) -> None:
        self.patience -= sum(map(len, lines))
        self.waiting.extendleft(reversed(lines))

    def look_ahead(self, taken: list[str]) -> Iterator[str]:
        """The lines that are taken, and further ones, which are taken then."""
        yield from tuple(taken)
        size = 0
        for line in self:
            taken.append(line)
            yield line
            size += len(line)
            if size > min(self.patience - _PATIENCE, _FARTHEST):
                return


def _take_lines(lines: Iterator[str], taken: list[str], longest: int) -> Iterator[str]:
    """The lines for csv.reader, which alone would collect a record of any size; `taken` are those of one record."""
    size = 0
    for line in lines:
        size = size + len(line) if taken else len(line)
        taken.append(line)
        if size > longest:
            raise csv.Error(f"row {row_too_long(longest)}")
        yield line


def _explain(complaint: str, record: Record, delimiter: str, character: str) -> Fault:
    if "field larger than" in complaint:
        return Fault("far too long", FIELD_TOO_LONG)
    if complaint.startswith("row "):
        return Fault("far too long", f"is far too long: it {complaint.removeprefix('row ')}")
    row = "".join(record.lines)[:_EXPLAINED]
    position = _find_bad_quote(row, delimiter, character)
    at = f"{tell_place(row, position, record.line)}, at {quote_around(row, position)}"
    detail = f"has a quote in the wrong place ({at}); write a quote inside a quoted text twice"
    if "unexpected end of data" in complaint:
        detail = f"opens a quote that is never closed ({at}); close it, and write a quote inside a text twice"
    return Fault("with a quote in the wrong place", detail)


def _find_bad_quote(row: str, delimiter: str, quote: str) -> int:
    """Position of the quote that breaks a row: it is never closed, or its field goes on after it."""
    inside, edge = re.compile(f"(?:[^{quote}]|{quote * 2})*+"), re.compile(rf"[{re.escape(delimiter)}\r\n]|\Z")
    position = opened = 0
    while position < len(row):
        if row[position] == quote:
            opened, position = position, inside.match(row, position + 1).end()  # type: ignore[union-attr]
            if position < len(row) and edge.match(row, position + 1) is None:
                return position
            position += 1
        position = edge.search(row, min(position, len(row))).end()  # type: ignore[union-attr]
    return opened
