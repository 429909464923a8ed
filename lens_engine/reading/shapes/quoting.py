"""How the quotes of a CSV file are read: the reading wins that loses the fewest lines.

A table of a corpus often has no quoting: a text may begin with a quote that nothing closes. Read with quoting, such a
quote breaks a row, or swallows all rows up to the next one. So quotes are letters if more fields open a quote than open
and close one, and more lines are rows that way. A line within a quoted field counts as a row if it is as wide as the
header and has a value that other rows have in its column (a label), because a text of several lines has commas too. A
file that can be read with quoting is read without it only if nearly all lines of some quoted fields are rows, and these
are many: a text may be a list.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from lens_engine.reading.shapes.text_file import Quoting, Record, TextFile, read_records
from lens_engine.task.wording import show_count

_SEPARATOR = "sep="
"""Beginning of a first line that tells some spreadsheets the delimiter: `sep=;`."""

_LONGEST_VALUE = 100
_MOST_VALUES = 5_000
"""Longest value (characters), and largest number of different values of a column, that are compared with others."""
_MOST_LINES = 100_000
"""Largest number of lines within quoted fields that are compared."""
_NEARLY_ALL = 0.9
_LEAST_GAIN = 0.05
"""Rows within quoted fields that make quotes letters in a file without bad quotes, as a share of the other rows."""
_MOST_SHOWN = 3
_PROSE = 0.3
"""What a delimiter loses, as a share of the rows, if it may be the punctuation of sentences."""
_MAX_RECORDS = 100
"""Number of records by which a delimiter is found."""


class FoundQuoting(NamedTuple):
    """How the quotes of a file are read, and what to say of it."""

    quoting: Quoting
    notes: tuple[str, ...] = ()


def read_table(file: TextFile, delimiter: str, quoting: Quoting) -> Iterator[Record]:
    """The records of a file, without a line that tells the delimiter."""
    for record in read_records(file.lines(""), delimiter, quoting, file.limits.max_row_characters):
        if record.fields[:1] != [_SEPARATOR]:
            yield record


def find_quoting(file: TextFile, delimiter: str) -> FoundQuoting:
    """How the quotes of a CSV file are read. Of a file with more rows than allowed, the rest is not counted."""
    usual = _count(file, delimiter, Quoting())
    if _has_single_quotes(file, delimiter):
        single = _count(file, delimiter, Quoting("'", has_escapes=True))
        if single.lost <= usual.lost + (1 - _NEARLY_ALL) * single.num_lines:
            return FoundQuoting(single.quoting, ("the fields are enclosed in single quotes", *single.describe()))
    if not usual.lost:
        return FoundQuoting(usual.quoting)
    if usual.has_escapes:
        escaped = _count(file, delimiter, Quoting(has_escapes=True))
        if escaped.lost < usual.lost:
            note = "a quote after a backslash is read as a letter of the text"
            return FoundQuoting(escaped.quoting, (note, *escaped.describe()))
    if usual.opened > usual.enclosed:
        plain = _count(file, delimiter, Quoting(""))
        is_table = plain.num_rows >= _NEARLY_ALL * plain.num_lines
        least = 0.0 if usual.num_faults else max(_LEAST_GAIN * usual.num_rows, 1)
        if is_table and usual.lost > plain.lost and usual.lost - plain.lost >= least:
            note = (
                "quotes are read as letters of the texts, because more lines have the columns of the header so "
                f"({plain.num_rows:,}; {usual.num_rows:,} with quotes round texts)"
            )
            return FoundQuoting(plain.quoting, (note,))
    return FoundQuoting(usual.quoting, usual.describe())


def _has_single_quotes(file: TextFile, delimiter: str) -> bool:
    """Whether nearly every line after the first has a field in single quotes."""
    edge = re.escape(delimiter)
    enclosed = re.compile(rf"(?:^|{edge})'[^'\r\n]*+(?:'(?!{edge}|[\r\n]|$)[^'\r\n]*+)*+'(?:{edge}|[\r\n]|$)")
    lines = [line for line in file.head_lines[1:] if not line.isspace()]
    return len(lines) > 1 and sum(map(bool, map(enclosed.search, lines))) >= _NEARLY_ALL * len(lines)


def _count(file: TextFile, delimiter: str, quoting: Quoting) -> "_Count":
    count = _Count(delimiter, quoting)
    for record in read_table(file, delimiter, quoting):
        count.add(record)
        if count.num_rows + count.num_faults > file.limits.max_rows:
            break
    count.find_swallows()
    return count


@dataclass
class _Count:
    """What one reading finds."""

    delimiter: str
    quoting: Quoting
    width: int = 0  #: of the header
    has_escapes: bool = False  #: whether a backslash stands before a quote
    opened: int = 0  #: fields that begin with a quote alone
    enclosed: int = 0  #: fields that begin and end with one
    num_lines: int = 0  #: that are not blank, without the header
    num_rows: int = 0  #: records as wide as the header
    num_faults: int = 0  #: records that a quote breaks
    lost: int = 0  #: lines that are no rows, or in the text of another row
    values: list[Counter[str]] = field(default_factory=list)  #: of each column, in rows of one line
    within: list[Record] = field(default_factory=list)  #: records of several lines
    swallows: list[Record] = field(default_factory=list)  #: those of which nearly all lines look like rows

    def add(self, record: Record) -> None:
        if record.is_blank:
            return
        if not self.width and record.fault is None:
            self.width = len(record.fields)
            self.values = [Counter() for _ in record.fields]
            return
        is_row = record.fault is None and len(record.fields) == self.width
        if self.quoting.character == '"':
            self._count_quotes(record.lines, is_row)
        self.num_lines += len(record.lines)
        if not is_row:
            self.num_faults += record.fault is not None
            self.lost += len(record.lines)
            return
        self.num_rows += 1
        if len(record.lines) > 1:
            if len(self.within) < _MOST_LINES:
                self.within.append(record)
            return
        for seen, value in zip(self.values, record.fields, strict=True):
            if len(value) <= _LONGEST_VALUE and (value in seen or len(seen) < _MOST_VALUES):
                seen[value] += 1

    def _count_quotes(self, lines: Sequence[str], is_row: bool) -> None:
        for line in lines:
            if '"' not in line:
                continue
            self.has_escapes = self.has_escapes or '\\"' in line
            if is_row and len(lines) == 1:  # its quoted fields may hold the delimiter
                edge = re.escape(self.delimiter)
                self.enclosed += len(re.findall(rf'(?:^|(?<={edge}))"(?:[^"]|"")*+"(?=[\r\n]|{edge}|$)', line))
            else:
                quoted = [one for one in self._split(line) if one.startswith('"')]
                num_enclosed = sum(len(one) > 1 and one.endswith('"') for one in quoted)
                self.enclosed += num_enclosed
                self.opened += len(quoted) - num_enclosed

    def find_swallows(self) -> None:
        """Find the quoted fields that hold rows, and count their lines as lost."""
        for record in self.within:
            look_alike = sum(self._is_like_others(self._split(line)) for line in record.lines)
            if look_alike > 1 and look_alike >= _NEARLY_ALL * len(record.lines):
                self.swallows.append(record)
                self.lost += len(record.lines) - 1

    def _split(self, line: str) -> list[str]:
        return line.rstrip("\r\n").split(self.delimiter)

    def _is_like_others(self, row: Sequence[str]) -> bool:
        """Whether a line is as wide as the header, and has a value that several rows have in the same column."""
        if len(row) != self.width:
            return False
        return any(value.strip() and seen[value] > 1 for seen, value in zip(self.values, row, strict=True))

    def describe(self) -> tuple[str, ...]:
        """What to say of quoted fields that hold rows."""
        if not self.swallows:
            return ()
        places = ", ".join(f"line {one.line:,} ({len(one.lines):,} lines)" for one in self.swallows[:_MOST_SHOWN])
        more = f" and {len(self.swallows) - _MOST_SHOWN:,} more" if len(self.swallows) > _MOST_SHOWN else ""
        rows = show_count(len(self.swallows), "row", "has")
        return (
            f"{rows} a quoted text with lines that look like rows of their own: {places}{more}; if a quote was left "
            "open there, close it",
        )


def find_delimiter(lines: Sequence[str], usual: str, delimiters: Sequence[str]) -> str:
    """The delimiter of a CSV file that begins with these lines: most rows have as many fields as the header.

    Args:
        usual: the delimiter of a file with one column.
    """
    if lines and (found := re.match(f"{_SEPARATOR}([,;|\t])\r?\n", lines[0])):
        return found[1]
    best, best_fit = usual, (-1.0, 1)
    for delimiter in delimiters:
        records = (one for one in read_records(lines, delimiter, Quoting(), 2**20) if not one.is_blank)
        widths = [  # where quotes are letters, they break records
            len(one.fields) if one.fault is None else one.lines[0].count(delimiter) + 1
            for one in islice(records, _MAX_RECORDS)
        ]
        header, rows = widths[0] if widths else 0, widths[1:]
        share = rows.count(header) / len(rows) if rows else 1.0
        fit = (share - _PROSE * is_prose(lines[1:], delimiter), header)
        if header > 1 and fit > best_fit:
            best, best_fit = delimiter, fit
    return best


def is_prose(lines: Sequence[str], delimiter: str) -> bool:
    """Whether a space follows most delimiters, as in sentences."""
    number = sum(line.count(delimiter) for line in lines)
    return number > 0 and 2 * sum(line.count(f"{delimiter} ") for line in lines) > number
