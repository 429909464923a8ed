"""The records of a CSV file, with quotes read in one of several ways. A broken record costs one line."""

import csv
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from lens_engine.reading.dialect import quote_around, tell_place
from lens_engine.reading.limits import FIELD_TOO_LONG, row_too_long
from lens_engine.reading.table import Fault

_EXPLAINED = 10_000
"""Number of characters of a broken record in which the quote that breaks it is looked for."""

QuoteCharacter = Literal['"', "'", ""]


class Quoting(NamedTuple):
    """How the quotes of a file are read."""

    character: QuoteCharacter = '"'  #: that encloses fields; "" if none does, so that quotes are letters
    has_escapes: bool = False  #: whether a backslash before it makes it a letter

    def mend(self, line: str) -> str:
        """The line with quotes that are letters written twice."""
        return line.replace(f"\\{self.character}", self.character * 2) if self.has_escapes else line


class Record(NamedTuple):
    """One record, or a line that is none."""

    line: int  #: on which it begins, from 1
    lines: list[str]
    fields: list[str]  #: none if it has a fault
    fault: Fault | None = None

    @property
    def is_blank(self) -> bool:
        return self.fault is None and not any(map(str.strip, self.fields))


def read_records(lines: Iterable[str], delimiter: str, quoting: Quoting, longest: int) -> Iterator[Record]:
    """The records of lines, in order. After a quote that breaks a record, the next line begins a new one.

    Args:
        longest: most characters of a record.
    """
    source, character = _Lines(lines, quoting, longest), quoting.character
    style: Literal[0, 3] = csv.QUOTE_MINIMAL if character else csv.QUOTE_NONE
    reader = csv.reader(source, strict=True, delimiter=delimiter, quotechar=character or None, quoting=style)
    while True:
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            fault = _explain(str(error), source, delimiter, character)
            source.give_back()
            yield Record(source.first, source.taken, [], fault)
        else:
            yield Record(source.first, source.taken, fields)
        source.begin()


def _explain(complaint: str, source: "_Lines", delimiter: str, character: str) -> Fault:
    if "field larger than" in complaint:
        return Fault("far too long", FIELD_TOO_LONG)
    if "larger than" in complaint:
        return Fault("far too long", f"is far too long: it {row_too_long(source.longest)}")
    row = "".join(source.taken)[:_EXPLAINED]
    position = _find_bad_quote(row, delimiter, character)
    at = f"{tell_place(row, position, source.first)}, at {quote_around(row, position)}"
    if "unexpected end of data" in complaint:
        detail = f"opens a quote that is never closed ({at}); close it, and write a quote inside a text twice"
    else:
        detail = f"has a quote in the wrong place ({at}); write a quote inside a quoted text twice"
    return Fault("with a quote in the wrong place", detail)


def _find_bad_quote(row: str, delimiter: str, quote: str) -> int:
    """Position of the quote that breaks a row: it is never closed, or its field goes on after it."""
    position, opened, is_open, is_start = 0, 0, False, True
    while position < len(row):
        character, following = row[position], row[position + 1 : position + 2]
        if character == quote and is_open and following == quote:
            position += 1
        elif character == quote and is_open:
            if following not in ("", delimiter, "\r", "\n"):
                return position
            is_open = False
        elif character == quote and is_start:
            is_open, opened = True, position
        is_start = not is_open and character in (delimiter, "\r", "\n")
        position += 1
    return opened


class _Lines:
    """Lines for csv.reader, with a bound on a record: csv.reader alone collects a record of any size."""

    def __init__(self, source: Iterable[str], quoting: Quoting, longest: int) -> None:
        self._source, self._mend, self.longest = iter(source), quoting.mend, longest
        self._waiting = deque[str]()
        self.first = 1  #: number of the first line that was taken
        self.taken: list[str] = []  #: the lines of the record so far
        self._num_taken = 0  #: characters

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._waiting.popleft() if self._waiting else self._mend(next(self._source))
        self.taken.append(line)
        self._num_taken += len(line)
        if self._num_taken > self.longest:
            raise csv.Error(f"row larger than {self.longest:,} characters")
        return line

    def begin(self) -> None:
        """Begin a record."""
        self.first += len(self.taken)
        self.taken, self._num_taken = [], 0

    def give_back(self) -> None:
        """Keep the first line alone."""
        self._waiting.extendleft(reversed(self.taken[1:]))
        self.taken = self.taken[:1]
