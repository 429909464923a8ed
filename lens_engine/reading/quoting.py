"""Whether quotes in a CSV file enclose fields or are letters of the texts.

A table of a corpus often has no quoting: a text may begin with a quote that nothing closes. Read with quoting, such a
quote breaks the file, or swallows all rows up to the next one. So the file is read in both ways: quotes are letters if
more fields open a quote than open and close one, and nearly all lines are rows that way, more than with quoting. A row
is a line with as many fields as the header; within a quoted field, it must also have a value that other rows have in
its column (a label), because a text of several lines has commas too. A file that can be read with quoting is read
without it only if nearly all lines of some quoted fields are rows, and these are many: a text may be a list.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from lens_engine.reading.dialect import SEPARATOR
from lens_engine.reading.limits import ParsingLimits
from lens_engine.task.wording import show_count

_QUOTE = '"'
_LONGEST_VALUE = 100
_MOST_VALUES = 5_000
"""Longest value (characters), and largest number of different values of a column, that are compared with others."""

_MOST_LINES = 100_000
"""Largest number of lines within quoted fields that are compared."""

_LEAST_ROWS = 0.9
"""Smallest share of the lines, of the file or of a quoted field, that must be rows where quotes are letters."""

_LEAST_GAIN = 0.05
"""Rows within quoted fields that make quotes letters in a file without bad quotes, as a share of the other rows."""

_MOST_SHOWN = 3


class Swallow(NamedTuple):
    """A quoted field with lines that look like rows."""

    line: int  #: on which its row begins, from 1
    lines: int  #: that it holds


class Quoting(NamedTuple):
    """How the quotes of a file are read, and what to say of it."""

    encloses: bool  #: whether quotes enclose fields
    notes: tuple[str, ...] = ()


def find_quoting(text: io.TextIOWrapper, delimiter: str, limits: ParsingLimits) -> Quoting:
    """How the quotes of a CSV file are read, which is open with `newline=""`.

    Args:
        limits: the quoted reading is broken by a longer row; of a file with more rows, which is refused in both
            readings, the rest is not counted.
    """
    count = _Count(delimiter)
    source = _Lines(text, count, limits.max_row_characters)
    try:
        for record in csv.reader(source, strict=True, delimiter=delimiter):
            count.add_record(record, source.taken, source.number)
            source.begin_row()
            if count.num_records > limits.max_rows:
                break
    except csv.Error:
        count.is_broken = True
        for line in chain(source.taken, source.rest()):
            count.add_plain(line)
            if count.num_lines > limits.max_rows:
                break
    return count.decide()


class _Lines:
    """The lines for csv.reader, with those of the row so far."""

    def __init__(self, text: io.TextIOWrapper, count: "_Count", most: int) -> None:
        self._text, self._count, self._most = text, count, most
        self.taken: list[str] = []
        self._num_taken = 0  #: characters
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._read()
        if not line:
            raise StopIteration
        self.number += 1
        self.taken.append(line)
        self._num_taken += len(line)
        if self._num_taken > self._most:
            raise csv.Error("row larger than the limit")
        return line

    def begin_row(self) -> None:
        self.taken, self._num_taken = [], 0

    def rest(self) -> Iterator[str]:
        return iter(self._read, "")

    def _read(self) -> str:
        line = self._text.readline(self._most + 1)
        self._count.count_quotes(line)
        return line


@dataclass
class _Count:
    """What both readings find."""

    delimiter: str
    width: int = 0  #: of the header
    is_broken: bool = False  #: whether the quoted reading ends with an error
    opened: int = 0  #: fields that begin with a quote alone
    enclosed: int = 0  #: fields that begin and end with one
    num_records: int = 0  #: of the quoted reading that are not blank, without the header
    quoted_rows: int = 0
    plain_rows: int = 0
    num_lines: int = 0  #: that are not blank, without the header
    values: list[Counter[str]] = field(default_factory=list)  #: of each column, in rows of one line
    within: list[tuple[int, Sequence[str]]] = field(default_factory=list)
    """Number of the first line, and the lines, of each row of several."""
    num_within: int = 0
    _enclosed: re.Pattern[str] = field(init=False)  #: a quoted field

    def __post_init__(self) -> None:
        delimiter = re.escape(self.delimiter)
        self._enclosed = re.compile(rf'(?:^|(?<={delimiter}))"(?:[^"]|"")*+"(?=[\r\n]|{delimiter}|$)')

    def count_quotes(self, line: str) -> None:
        if not self.width or _QUOTE not in line:  # the quotes of the header tell nothing of the texts
            return
        if num_enclosed := self._count_enclosed(line):
            self.enclosed += num_enclosed
            return
        for one in line.rstrip("\r\n").split(self.delimiter):
            if one.startswith(_QUOTE):
                is_enclosed = len(one) > 1 and one.endswith(_QUOTE)
                self.enclosed += is_enclosed
                self.opened += not is_enclosed

    def _count_enclosed(self, line: str) -> int:
        """Quoted fields of a line that is a row of the quoted reading: they may hold the delimiter. 0 for others."""
        try:
            rows = list(csv.reader([line], strict=True, delimiter=self.delimiter))
        except csv.Error:
            return 0
        return len(self._enclosed.findall(line)) if list(map(len, rows)) == [self.width] else 0

    def add_plain(self, line: str) -> None:
        self.num_lines += not line.isspace()
        self.plain_rows += len(self._split(line)) == self.width

    def add_record(self, record: Sequence[str], lines: Sequence[str], last: int) -> None:
        """A record of the quoted reading, and its lines."""
        if not any(map(str.strip, record)) or (not self.width and record[0] == SEPARATOR):
            return
        if not self.width:
            self.width = len(record)
            self.values = [Counter() for _ in record]
            return
        self.num_records += 1
        self.quoted_rows += len(record) == self.width
        if len(lines) > 1:
            self.num_within += len(lines)
            if self.num_within <= _MOST_LINES:
                self.within.append((last - len(lines) + 1, lines))
            return
        self.add_plain(lines[0])
        if len(record) == self.width:
            for seen, value in zip(self.values, record, strict=True):
                if len(value) <= _LONGEST_VALUE and (value in seen or len(seen) < _MOST_VALUES):
                    seen[value] += 1

    def decide(self) -> Quoting:
        swallows = []
        for first, lines in self.within:
            look_alike = sum(self._is_like_others(self._split(line)) for line in lines)
            self.num_lines += len(lines)
            self.plain_rows += look_alike
            if look_alike > 1 and look_alike >= _LEAST_ROWS * len(lines):
                swallows.append(Swallow(first, len(lines)))
        is_table = self.plain_rows >= _LEAST_ROWS * self.num_lines
        wins = is_table and self.opened > self.enclosed and self.plain_rows > self.quoted_rows
        gain = sum(one.lines - 1 for one in swallows)
        if wins and (self.is_broken or gain >= max(_LEAST_GAIN * self.quoted_rows, 1)):
            return Quoting(
                encloses=False,
                notes=(
                    "quotes are read as letters of the texts, because more lines have the columns of the header so "
                    f"({self.plain_rows:,}; {self.quoted_rows:,} with quotes round texts)",
                ),
            )
        return Quoting(encloses=True, notes=_describe(swallows))

    def _split(self, line: str) -> list[str]:
        return line.rstrip("\r\n").split(self.delimiter)

    def _is_like_others(self, row: Sequence[str]) -> bool:
        """Whether a line is as wide as the header, and has a value that several rows have in the same column."""
        if len(row) != self.width:
            return False
        return any(value.strip() and seen[value] > 1 for seen, value in zip(self.values, row, strict=True))


def _describe(swallows: Sequence[Swallow]) -> tuple[str, ...]:
    if not swallows:
        return ()
    places = ", ".join(f"line {one.line:,} ({one.lines:,} lines)" for one in swallows[:_MOST_SHOWN])
    more = f" and {len(swallows) - _MOST_SHOWN:,} more" if len(swallows) > _MOST_SHOWN else ""
    rows = show_count(len(swallows), "row", "has")
    return (
        f"{rows} a quoted text with lines that look like rows of their own: {places}{more}; if a quote was left open "
        "there, close it",
    )
