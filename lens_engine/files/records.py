"""The records of a table of delimited columns: lines, and fields in quotes that may have several lines.

A quote that breaks a record costs one row if the end of the record is found, or else its first line.
"""

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lens_engine.files.limits import row_too_long
from lens_engine.files.table import Fault
from lens_engine.files.text_file import quote_around, tell_place

_LINE_ENDS = ("\n", "\r\n", "\r", "")
_PATIENCE, _FARTHEST = 2**14, 2**24
"""Characters that may be read again at first, and the most among which the end of a record is looked for."""
_MOST_LINES = 2**15  #: lines among which it is looked for; a short line costs as much as a long one
_MOST_COMPARED = 1_000  #: lines of a broken record that are compared with rows
_STAND_IN = "\x1f"  #: for a delimiter of several characters
csv.field_size_limit(2**31 - 1)  # a record has limits here


class Form(NamedTuple):
    """How a file is parted into fields."""

    delimiter: str
    quote: str = '"'  #: that encloses fields; "" if none does, so that quotes are letters
    skips_spaces: bool = False  #: whether a field begins after the spaces that follow a delimiter

    def split(self, lines: Iterable[str]) -> list[str]:
        """The fields of the first record.

        Raises:
            csv.Error: a quote is in the wrong place, or never closed.
        """
        is_long = len(self.delimiter) > 1
        records = csv.reader(
            (one.replace(self.delimiter, _STAND_IN) for one in lines) if is_long else lines,
            delimiter=_STAND_IN if is_long else self.delimiter,
            quotechar=self.quote,
            skipinitialspace=self.skips_spaces,
            strict=True,
        )
        if (fields := next(records, None)) is None:
            raise csv.Error
        return [one.replace(_STAND_IN, self.delimiter) for one in fields] if is_long else fields

    def is_row(self, line: str, width: int) -> bool:
        """Whether a line is a row without a quote in a text."""
        try:
            fields = self.split([line])
        except csv.Error:
            return False
        return len(fields) == width and not any(self.quote in one for one in fields)


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

    def go_on(self, taken: list[str]) -> Iterator[str]:
        """The lines of a record from its first, each of which is taken, as far as its end is looked for."""
        size = 0
        yield taken[0]
        while size <= _FARTHEST and len(taken) <= _MOST_LINES and self.patience > 0 and (line := next(self, "")):
            taken.append(line)
            size += len(line)
            yield line


def read_records(lines: Iterable[str], form: Form, longest: int) -> Iterator[Record]:
    """The records of lines, each of at most `longest` characters."""
    source, number, width = _Lines(lines), 1, 0
    for line in source:
        if line in _LINE_ENDS:
            record = Record(number, [line], [])
        elif len(line) > longest:
            record = Record(number, [line], [], Fault("far too long", row_too_long(longest)))
        elif not form.quote or form.quote not in line:
            record = Record(number, [line], line.rstrip("\r\n").split(form.delimiter))
        else:
            record = _read_quoted(source, Record(number, [line], []), form, width, longest)
        width = len(record.fields) or width
        number += len(record.lines)
        yield record


def _read_quoted(source: _Lines, record: Record, form: Form, width: int, longest: int) -> Record:
    """The record that begins with a line with quotes. Where one is bad, the record ends with the line after which their
    number is even; if that is not found, or most of its further lines are rows, it has but its first line.
    """
    taken = record.lines
    rest = source.go_on(taken)
    try:
        fields = form.split(rest)
    except csv.Error:
        is_open = sum(one.count(form.quote) for one in taken) % 2 == 1
        while is_open and (line := next(rest, "")):
            is_open = line.count(form.quote) % 2 == 0
        fault = _explain("".join(taken), record.line, form)
        others = taken[1 : 1 + _MOST_COMPARED]
        if is_open or 2 * sum(form.is_row(one, width) for one in others) > len(others):
            source.put_back(taken[1:])
            del taken[1:]
        return record._replace(fault=fault)
    if sum(map(len, taken[1:])) > longest:
        return record._replace(fault=Fault("far too long", row_too_long(longest)))
    return record._replace(fields=fields)


def _explain(row: str, number: int, form: Form) -> Fault:
    """What is wrong with the quotes of a record, and where."""
    edge, quote = re.escape(form.delimiter), form.quote
    within = f"(?P<open>{quote})(?:[^{quote}]|{quote}{quote})*+"
    found = re.search(rf"(?:\A|{edge}) *+{within}(?:{quote}(?!{edge}|[\r\n]|\Z)|\Z)", row)
    is_closed = found is None or found.end() < len(row)
    position = 0 if found is None else found.end() - 1 if is_closed else found.start("open")
    at = f"{tell_place(row, position, number)}, at {quote_around(row, position)}"
    detail = f"has a quote in the wrong place ({at}); write a quote inside a quoted text twice"
    if not is_closed:
        detail = f"opens a quote that is never closed ({at}); close it, and write a quote inside a text twice"
    return Fault("with a quote in the wrong place", detail)
