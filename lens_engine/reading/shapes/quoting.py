"""How the fields of a CSV file are told apart: its delimiter, and how its quotes are read.

The reading of quotes wins that loses the fewest lines. A table of a corpus often has no quoting: a text may begin with
a quote that nothing closes. Read with quoting, such a quote breaks a row, or swallows all rows up to the next one. So
quotes are letters if more fields open a quote than open and close one, and more lines are rows that way. A line within
a quoted field counts as a row if it is as wide as the header and has a value that other rows have in its column (a
label), because a text of several lines has commas too. A file that can be read with quoting is read without it only if
nearly all lines of some quoted fields are rows, and these are many: a text may be a list.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import dropwhile, islice

from lens_engine.reading.columns import DELIMITERS, MAX_COLUMNS, is_usual
from lens_engine.reading.shapes.text_file import Quoting, Record, TextFile, read_records
from lens_engine.task.wording import show_count

COMMENTS = ("#", "%", "//")  #: beginnings of lines above a table
_SEPARATOR = "sep="  #: beginning of a first line that tells some spreadsheets the delimiter: `sep=;`
_LONGEST_VALUE, _MOST_VALUES = 100, 5_000
"""Longest value (characters), and largest number of different values of a column, that are compared with others."""
_MOST_LINES = 100_000  #: largest number of lines within quoted fields that are compared
_NEARLY_ALL = 0.9
_LEAST_GAIN = 0.05
"""Rows within quoted fields that make quotes letters in a file without bad quotes, as a share of the other rows."""
_MOST_SHOWN = 3
_LEAST_FIT = 0.5  #: share of the rows that have the delimiter of earlier files as often as the first line
_PROSE = 0.3  #: what a delimiter loses, as a share of the rows, if it may be the punctuation of sentences
_MAX_RECORDS = 100  #: number of records by which a delimiter is found


def read_table(file: TextFile, delimiter: str, quoting: Quoting) -> Iterator[Record]:
    """The records of a file, without a line that tells the delimiter. Too many blank ones are refused."""
    num_blank = 0
    for record in read_records(file.lines(""), delimiter, quoting, file.limits.max_row_characters):
        num_blank += record.is_blank
        file.limits.check_blank(num_blank, file.field)
        if record.fields[:1] != [_SEPARATOR]:
            yield record


def find_quoting(file: TextFile, delimiter: str) -> tuple[Quoting, tuple[str, ...]]:
    """How the quotes of a CSV file are read, and what to say of it.

    Of a file with more rows than allowed, the rest is not counted.
    """
    spaced = re.compile(f'{re.escape(delimiter)} +"')
    usual = _Reading(file, delimiter, Quoting(skips_spaces=_are_nearly_all(spaced.search, file)))
    if usual.quoting.skips_spaces and usual.num_rows < _NEARLY_ALL * usual.num_lines:  # speech in a text
        usual = _Reading(file, delimiter, Quoting())
    if _has_single_quotes(file, delimiter):
        single = _Reading(file, delimiter, Quoting("'", has_escapes=True))
        if single.lost <= usual.lost + (1 - _NEARLY_ALL) * single.num_lines:
            return single.quoting, ("the fields are enclosed in single quotes", *single.describe())
    if usual.lost and usual.has_escapes:
        escaped = _Reading(file, delimiter, Quoting(has_escapes=True))
        if escaped.lost < usual.lost:
            return escaped.quoting, ("a quote after a backslash is read as a letter of the text", *escaped.describe())
    if usual.lost and usual.opened > usual.enclosed:
        plain = _Reading(file, delimiter, Quoting(""))
        is_table = plain.num_rows >= _NEARLY_ALL * plain.num_lines
        least = 0.0 if usual.num_faults else max(_LEAST_GAIN * usual.num_rows, 1)
        if is_table and usual.lost > plain.lost and usual.lost - plain.lost >= least:
            note = (
                "quotes are read as letters of the texts, because more lines have the columns of the header so "
                f"({plain.num_rows:,}; {usual.num_rows:,} with quotes round texts)"
            )
            return plain.quoting, (note,)
    return usual.quoting, usual.describe()


def _has_single_quotes(file: TextFile, delimiter: str) -> bool:
    """Whether nearly every line after the first has a field in single quotes."""
    edge = re.escape(delimiter)
    opening, closing = re.compile(f"(?:^|{edge})'"), re.compile(rf"'(?:{edge}|[\r\n]|$)")
    return _are_nearly_all(lambda line: (found := opening.search(line)) and closing.search(line, found.end()), file)


def _are_nearly_all(fits: Callable[[str], object], file: TextFile) -> bool:
    lines = [line for line in file.head_lines[1:] if not line.isspace()]
    return len(lines) > 1 and sum(map(bool, map(fits, lines))) >= _NEARLY_ALL * len(lines)


class _Reading:
    """What one reading of a file finds."""

    def __init__(self, file: TextFile, delimiter: str, quoting: Quoting) -> None:
        self.quoting, self._delimiter = quoting, delimiter
        self.has_escapes = False  #: whether a backslash stands before a quote
        self.opened = self.enclosed = 0  #: fields that begin with a quote alone; that begin and end with one
        self.num_lines = 0  #: that are not blank, without the header
        self.num_rows = self.num_faults = 0  #: records as wide as the header; that a quote breaks
        self.lost = 0  #: lines that are no rows, or in the text of another row
        self._values: list[Counter[str]] = []  #: of each column, in rows of one line
        self._within: list[Record] = []  #: records of several lines
        edge = re.escape(delimiter)
        self._enclosed = re.compile(rf'(?:^|(?<={edge}))"(?:[^"]|"")*+"(?=[\r\n]|{edge}|$)')
        records = (record for record in read_table(file, delimiter, quoting) if not record.is_blank)
        for record in islice(records, file.limits.max_rows + 2):  # one is the header, one is too many
            if self._values or record.fault is not None:
                self._add(record)
            elif len(record.fields) <= MAX_COLUMNS:
                self._values = [Counter() for _ in record.fields]
            else:
                break
        self._swallows = list(filter(self._is_rows, self._within))  #: quoted fields that hold rows
        self.lost += sum(len(record.lines) - 1 for record in self._swallows)

    def _add(self, record: Record) -> None:
        is_row = record.fault is None and len(record.fields) == len(self._values)
        if self.quoting.character == '"':
            self._count_quotes(record.lines, is_row)
        self.num_lines += len(record.lines)
        self.num_faults += record.fault is not None
        if not is_row:
            self.lost += len(record.lines) if record.fault is None else not record.is_right
            return
        self.num_rows += 1
        if len(record.lines) > 1:
            self._within += [record] * (len(self._within) < _MOST_LINES)
            return
        for seen, value in zip(self._values, record.fields, strict=True):
            if len(value) <= _LONGEST_VALUE and (value in seen or len(seen) < _MOST_VALUES):
                seen[value] += 1

    def _count_quotes(self, lines: Sequence[str], is_row: bool) -> None:
        for line in lines:
            if '"' not in line:
                continue
            self.has_escapes = self.has_escapes or '\\"' in line
            if is_row and len(lines) == 1:  # its quoted fields may hold the delimiter
                self.enclosed += len(self._enclosed.findall(line))
            else:
                quoted = [one for one in self._split(line) if one.startswith('"')]
                num_enclosed = sum(len(one) > 1 and one.endswith('"') for one in quoted)
                self.enclosed += num_enclosed
                self.opened += len(quoted) - num_enclosed

    def _is_rows(self, record: Record) -> bool:
        """Whether nearly all lines of a record look like rows of their own."""
        look_alike = sum(self._is_like_others(self._split(line)) for line in record.lines)
        return look_alike > 1 and look_alike >= _NEARLY_ALL * len(record.lines)

    def _split(self, line: str) -> list[str]:
        return line.rstrip("\r\n").split(self._delimiter)

    def _is_like_others(self, row: Sequence[str]) -> bool:
        """Whether a line is as wide as the header, and has a value that several rows have in the same column."""
        if len(row) != len(self._values):
            return False
        return any(value.strip() and seen[value] > 1 for seen, value in zip(self._values, row, strict=True))

    def describe(self) -> tuple[str, ...]:
        """What to say of quoted fields that hold rows."""
        if not self._swallows:
            return ()
        places = ", ".join(f"line {one.line:,} ({len(one.lines):,} lines)" for one in self._swallows[:_MOST_SHOWN])
        more = f" and {len(self._swallows) - _MOST_SHOWN:,} more" if len(self._swallows) > _MOST_SHOWN else ""
        rows = show_count(len(self._swallows), "row", "has")
        return (
            f"{rows} a quoted text with lines that look like rows of their own: {places}{more}; if a quote was left "
            "open there, close it",
        )


def take_quotes_off(file: TextFile) -> TextFile:
    """The file without the quotes round each line, if all have them, with a table in them."""
    inner = replace(file, is_enclosed=True)
    num_enclosed = sum(one != line for one, line in zip(inner.head_lines, file.head_lines, strict=True))
    if not num_enclosed or num_enclosed < _NEARLY_ALL * len(file.head_lines):
        return file
    delimiters = DELIMITERS if file.delimiter is None else [file.delimiter]
    return inner if _find_by_width(inner.head_lines, delimiters, _NEARLY_ALL) else file


def find_delimiter(lines: Sequence[str], usual: str | None) -> str:
    """The delimiter of a CSV file that begins with these lines: most rows have as many fields as the header.

    Args:
        usual: the delimiter of earlier files, which is taken if it is one; and for a file of one column.
    """
    if lines and (found := re.match(f"{_SEPARATOR}([,;|\t])\r?\n", lines[0])):
        return found[1]
    if usual and _find_by_width(lines, [usual], _LEAST_FIT):
        return usual
    lines = list(dropwhile(lambda line: line.startswith(COMMENTS), lines)) or lines
    return _find_by_width(lines) or _find_by_width(lines, has_title=True) or (usual or "").strip(" ") or ","


def _find_by_width(
    lines: Sequence[str], delimiters: Iterable[str] = DELIMITERS, least: float = -1.0, *, has_title: bool = False
) -> str | None:
    """The delimiter that the header has, and most rows as often.

    Args:
        least: largest share of such rows that is not enough.
        has_title: whether lines without a delimiter stand above a header with a usual name.
    """
    best, best_fit = None, (least, 1)
    for delimiter in delimiters:
        records = (one for one in read_records(lines, delimiter, Quoting(), 2**20) if not one.is_blank)
        table = list(islice(records, _MAX_RECORDS))
        if has_title:
            table = list(dropwhile(lambda one: len(one.fields) == 1, table))
        widths = [  # where quotes are letters, they break records
            len(one.fields) if one.fault is None else one.lines[0].count(delimiter) + 1 for one in table
        ]
        header, rows = widths[0] if widths else 0, widths[1:]
        share = rows.count(header) / len(rows) if rows else 1.0
        fit = (share - _PROSE * is_prose(lines[1:], delimiter), header)
        if header > 1 and fit > best_fit and not (has_title and not any(map(is_usual, table[0].fields))):
            best, best_fit = delimiter, fit
    return best


def is_prose(lines: Sequence[str], delimiter: str) -> bool:
    """Whether a space follows most delimiters, as in sentences."""
    number = sum(line.count(delimiter) for line in lines)
    return number > 0 and 2 * sum(line.count(f"{delimiter} ") for line in lines) > number
