"""The records of a table of delimited columns: lines, and fields in quotes that may have several lines.

A quote that breaks a record costs one row if the end of the record is found, or else its first line.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from lens_engine.reading.dialect import quote_around, tell_place
from lens_engine.reading.limits import row_too_long
from lens_engine.reading.table import Fault

_LINE_ENDS = ("\n", "\r\n", "\r", "")
_PATIENCE, _FARTHEST = 2**14, 2**24
"""Characters that may be read again at first, and the most among which the end of a record is looked for."""
_MOST_LINES = 2**15  #: lines among which it is looked for; a short line costs as much as a long one
_MOST_COMPARED = 1_000  #: lines of a broken record that are compared with rows


class Quoting(NamedTuple):
    """How the quotes of a file are read."""

    character: Literal['"', "'", ""] = '"'  #: that encloses fields; "" if none does, so that quotes are letters
    has_escapes: bool = False  #: whether a backslash before it makes it a letter
    skips_spaces: bool = False  #: whether a field begins after the spaces that follow a delimiter


class Record(NamedTuple):
    """One record, or a line that is none."""

    line: int  #: on which it begins, from 1
    lines: list[str]
    fields: list[str]  #: none if it has a fault
    fault: Fault | None = None

    @property
    def is_blank(self) -> bool:
        return self.fault is None and not any(map(str.strip, self.fields))


class _Lines:
    """Lines that can be put back: of each two characters one, or else every line could cost all lines below it."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.patience = 2 * _PATIENCE  #: number of characters that may be put back
        self._waiting, self._fresh = deque[str](), iter(lines)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self._waiting:
            return self._waiting.popleft()
        line = next(self._fresh)
        self.patience += 2 * len(line)
        return line

    def put_back(self, lines: list[str]) -> None:
        self.patience -= sum(map(len, lines))
        self._waiting.extendleft(reversed(lines))


class _Fields:
    """The fields of a record, line by line. A quote within a quoted field is a letter if no delimiter or line end
    follows it; the record is broken then, and a line end closes a field only where no further ones are missing.
    """

    def __init__(self, delimiter: str, quoting: Quoting, width: int) -> None:
        self.fields: list[str] = []
        self.bad: int | None = None  #: place of the first quote that breaks the record, in its lines
        self.opened = 0  #: place of the last quote that opens a field
        self.has_letters = False  #: whether a field that is not quoted has a quote
        self._delimiter, self._width, self._quote = delimiter, width, quoting.character
        self._within = re.compile(f"(?:[^{self._quote}]|{self._quote * 2})*+")
        self._blanks = re.compile(" *+" if quoting.skips_spaces else "")
        self._open: list[str] | None = None
        self._before = 0

    def take(self, line: str) -> bool:
        """Go on with the record by a line; whether it ends with it."""
        place, end = 0, len(line.rstrip("\r\n"))
        while place <= end:
            if self._open is None:
                start = self._blanks.match(line, place).end()  # type: ignore[union-attr]
                if not line.startswith(self._quote, start):
                    place = self._take_plain(line, place, end)
                    continue
                self._open, self.opened, place = [], self._before + start, start + 1
            found = self._within.match(line, place)
            assert found is not None
            self._open.append(found[0])
            if (place := found.end() + 1) > len(line):
                self._before += len(line)
                return False
            place = self._close(line, place, end)
        return self._open is None

    def _take_plain(self, line: str, place: int, end: int) -> int:
        after = line.find(self._delimiter, place, end)
        after = end if after < 0 else after
        self.fields.append(line[place:after])
        self.has_letters = self.has_letters or self._quote in self.fields[-1]
        return after + len(self._delimiter)

    def _close(self, line: str, place: int, end: int) -> int:
        """The place after the quoted field that a quote ends; or after the quote, if it is a letter."""
        assert self._open is not None
        is_at_end = place >= end and not (self.bad is not None and len(self.fields) + 1 < self._width)
        if is_at_end or line.startswith(self._delimiter, place):
            self.fields.append("".join(self._open).replace(self._quote * 2, self._quote))
            self._open = None
            return place + len(self._delimiter)
        self.bad = self._before + place - 1 if self.bad is None else self.bad
        self._open.append(self._quote)
        return place


def read_records(lines: Iterable[str], delimiter: str, quoting: Quoting, longest: int) -> Iterator[Record]:
    """The records of lines, each of at most `longest` characters."""
    quote, source, number, width = quoting.character, _Lines(lines), 1, 0
    for line in source:
        if line in _LINE_ENDS:
            record = Record(number, [line], [])
        elif len(line) > longest:
            record = Record(number, [line], [], Fault("far too long", row_too_long(longest)))
        elif not quote or quote not in line:
            record = Record(number, [line], line.rstrip("\r\n").split(delimiter))
        else:
            record = _read_quoted(source, Record(number, [line], []), delimiter, quoting, width, longest)
        width = len(record.fields) or width
        number += len(record.lines)
        yield record


def _read_quoted(source: _Lines, record: Record, delimiter: str, quoting: Quoting, width: int, longest: int) -> Record:
    """The record that begins with a line with quotes."""
    taken, size, quote = record.lines, 0, quoting.character
    fields = _Fields(delimiter, quoting, width)
    mend = (lambda one: one.replace(f"\\{quote}", quote * 2)) if quoting.has_escapes else str
    is_ended = fields.take(mend(taken[0]))
    while not is_ended and size <= _FARTHEST and len(taken) <= _MOST_LINES and source.patience > 0:
        if not (line := next(source, "")):
            break
        taken.append(line)
        size += len(line)
        is_ended = fields.take(mend(line))
    if is_ended and fields.bad is None:
        is_long = size > longest
        fault = Fault("far too long", row_too_long(longest)) if is_long else None
        return record._replace(fields=[] if is_long else fields.fields, fault=fault)
    fault = _explain(taken, record.line, fields, is_ended=is_ended)
    others = taken[1 : 1 + _MOST_COMPARED]
    are_rows = [_is_row(mend(one), delimiter, quoting, width) for one in others]
    if not is_ended or len(fields.fields) != width or 2 * sum(are_rows) > len(others):
        source.put_back(taken[1:])
        del taken[1:]
    return record._replace(fault=fault)


def _is_row(line: str, delimiter: str, quoting: Quoting, width: int) -> bool:
    fields = _Fields(delimiter, quoting, width)
    return fields.take(line) and fields.bad is None and not fields.has_letters and len(fields.fields) == width


def _explain(lines: list[str], number: int, fields: _Fields, *, is_ended: bool) -> Fault:
    """What is wrong with the quotes of a record, and where."""
    row, position = "".join(lines), fields.opened if fields.bad is None else fields.bad
    at = f"{tell_place(row, position, number)}, at {quote_around(row, position)}"
    detail = f"has a quote in the wrong place ({at}); write a quote inside a quoted text twice"
    if fields.bad is None and not is_ended:
        detail = f"opens a quote that is never closed ({at}); close it, and write a quote inside a text twice"
    return Fault("with a quote in the wrong place", detail)
