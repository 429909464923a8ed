"""How the fields of a table are told apart: its delimiter, and how its quotes are read, by its first lines.

The reading of quotes wins that loses the fewest lines. A table of a corpus often has no quoting, and a text may begin
with a quote that nothing closes. Read with quoting, such a quote breaks a row, or swallows all rows up to the next one.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import dropwhile, islice

from lens_engine.reading.columns import DELIMITERS, MAX_COLUMNS, is_usual
from lens_engine.reading.shapes.records import Quoting, Record, read_records

COMMENTS = ("#", "%", "//")  #: beginnings of lines above a table
HALF, NEARLY_ALL = 0.5, 0.9
_MOST_RECORDS, _MOST_FIELDS, _LONGEST = 2_000, 200_000, 2**20
"""Records, their fields, and characters of a line, by which a table is looked at."""
_NUM_TELLING = 100  #: records by which a delimiter is found
_LONGEST_LABEL = 100
_LEAST_GAIN = 0.05
"""Rows within quoted fields that make quotes letters in a file without bad quotes, as a share of the other rows."""
_PROSE = 0.3  #: what a delimiter loses, as a share of the rows, if it may be the punctuation of sentences


def find_delimiter(lines: Sequence[str], usual: str | None) -> str:
    """The delimiter of a table that begins with these lines: most rows have as many fields as the header.

    Args:
        usual: the delimiter of earlier files, which is taken if it is one; and for a file of one column.
    """
    if usual and find_by_width(lines, [usual], HALF):
        return usual
    lines = list(dropwhile(lambda line: line.startswith(COMMENTS), lines)) or lines
    return find_by_width(lines) or find_by_width(lines, has_title=True) or (usual or "").strip(" ") or ","


def find_by_width(
    lines: Sequence[str], delimiters: Iterable[str] = DELIMITERS, least: float = -1.0, *, has_title: bool = False
) -> str | None:
    """The delimiter that the header has, and most rows as often.

    Args:
        least: largest share of such rows that is not enough.
        has_title: whether lines without a delimiter stand above a header with a usual name.
    """
    best, best_fit = None, (least, 1)
    for delimiter in delimiters:
        records = (one for one in read_records(lines, delimiter, Quoting(), _LONGEST) if not one.is_blank)
        table = list(islice(records, _NUM_TELLING))
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


class Reading:
    """What one reading of quotes makes of the first lines of a table."""

    def __init__(self, lines: Sequence[str], delimiter: str, quoting: Quoting) -> None:
        self.quoting, self.delimiter = quoting, delimiter
        self.records = list(_take_first(read_records(lines, delimiter, quoting, _LONGEST)))
        rows = self.records[1:]
        self.width = len(self.records[0].fields) if self.records else 0
        fitting = [one for one in rows if len(one.fields) == self.width]
        single = [one.fields for one in fitting if len(one.lines) == 1] if self.width <= MAX_COLUMNS else []
        self._labels = [_find_repeated(values) for values in zip(*single, strict=True)]
        self.num_rows = len(fitting)
        self.num_lines = sum(len(one.lines) for one in rows)
        self.num_faults = sum(one.fault is not None for one in rows)
        self.swallowed = sum(len(one.lines) - 1 for one in fitting if self.swallows(one))
        others = [one for one in rows if one.fault is None and len(one.fields) != self.width]
        self.lost = self.num_faults + self.swallowed + sum(len(one.lines) for one in others)

    def swallows(self, record: Record) -> bool:
        """Whether nearly all lines of a record look like rows of their own: they have the width of the header, and a
        value that several rows have in the same column. A text of several lines has commas too."""
        if len(record.lines) < 2:
            return False
        look_alike = sum(map(self._is_like_others, record.lines))
        return look_alike > 1 and look_alike >= NEARLY_ALL * len(record.lines)

    def _is_like_others(self, line: str) -> bool:
        row = line.rstrip("\r\n").split(self.delimiter)
        return len(row) == len(self._labels) and any(map(set.__contains__, self._labels, row))


def _take_first(records: Iterator[Record]) -> Iterator[Record]:
    """The first records that are not blank."""
    num_fields = 0
    for record in islice((one for one in records if not one.is_blank), _MOST_RECORDS):
        yield record
        num_fields += len(record.fields)
        if num_fields > _MOST_FIELDS:
            return


def _find_repeated(values: Sequence[str]) -> set[str]:
    counts = Counter(value for value in values if value.strip() and len(value) <= _LONGEST_LABEL)
    return {value for value, number in counts.items() if number > 1}


def find_quoting(lines: Sequence[str], delimiter: str) -> tuple[Reading, str]:
    """How the quotes of a table are read, and what to say of it."""
    edge = re.escape(delimiter)
    usual = Reading(lines, delimiter, Quoting(skips_spaces=_are_nearly_all(re.compile(f'{edge} +"').search, lines)))
    if usual.quoting.skips_spaces and usual.num_rows < NEARLY_ALL * usual.num_lines:  # speech in a text
        usual = Reading(lines, delimiter, Quoting())
    opening, closing = re.compile(f"(?:^|{edge})'"), re.compile(rf"'(?:{edge}|[\r\n]|$)")
    if _are_nearly_all(lambda line: (found := opening.search(line)) and closing.search(line, found.end()), lines):
        single = Reading(lines, delimiter, Quoting("'", has_escapes=True))
        if single.lost <= usual.lost + (1 - NEARLY_ALL) * single.num_lines:
            return single, "the fields are enclosed in single quotes"
    if usual.lost and any('\\"' in line for line in lines):
        escaped = Reading(lines, delimiter, Quoting(has_escapes=True))
        if escaped.lost < usual.lost:
            return escaped, "a quote after a backslash is read as a letter of the text"
    if usual.lost and _are_open(lines, delimiter):
        plain = Reading(lines, delimiter, Quoting(""))
        least = 1 if usual.num_faults else max(_LEAST_GAIN * usual.num_rows, 1)
        if plain.num_rows >= NEARLY_ALL * plain.num_lines and usual.lost - plain.lost >= least:
            return (
                plain,
                "quotes are read as letters of the texts, because more lines have the columns of the header so",
            )
    return usual, ""


def _are_nearly_all(fits: Callable[[str], object], lines: Sequence[str]) -> bool:
    filled = [line for line in lines[1:] if not line.isspace()]
    return len(filled) > 1 and sum(map(bool, map(fits, filled))) >= NEARLY_ALL * len(filled)


def _are_open(lines: Sequence[str], delimiter: str) -> bool:
    """Whether more fields begin with a quote than begin and end with one."""
    quoted = [one for line in lines[1:] for one in line.rstrip("\r\n").split(delimiter) if one.startswith('"')]
    return 2 * sum(len(one) > 1 and one.endswith('"') for one in quoted) < len(quoted)
