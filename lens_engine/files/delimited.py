"""Tables of delimited columns (CSV, TSV): their delimiter, quotes, header, and what stands above it; and their records.

All is told by the first lines of a file. The reading of quotes wins that loses the fewest of them. A table of a corpus
often has no quoting, and a text may begin with a quote that nothing closes. Read with quoting, such a quote breaks a
row, or swallows all rows up to the next one. Where a quote breaks a record, it costs one row if the end of the record
is found, or else its first line.
"""

import csv
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from lens_engine.errors import InvalidDataset
from lens_engine.files.columns import (
    DELIMITERS,
    MAX_COLUMNS,
    NEARLY_ALL,
    find_start,
    has_header,
    is_usual,
    name_positions,
)
from lens_engine.files.limits import DatasetEmpty, row_too_long
from lens_engine.files.table import NO_CELLS, Fault, Row, Table
from lens_engine.files.text_file import UNDECODED, TextFile, quote_around, show_encoding, tell_place
from lens_engine.prompt.text_checks import show_names
from lens_engine.prompt.wording import show_label

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
        """The fields of the first record. Raises csv.Error if a quote is in the wrong place, or never closed."""
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


_QUOTED_NAME = re.compile(r'\A"(.*)"\Z', re.DOTALL)
"""A name in quotes: a header may have them also where quotes are letters of the texts."""
_ENCLOSED = re.compile(r'"((?:[^"\r\n]|"")*+)"([\r\n]*)')
_NO_DELIMITER = "\x1f"
_HALF = 0.5
_MOST_RECORDS, _MOST_FIELDS, _LONGEST = 2_000, 200_000, 2**20
"""Records, their fields, and characters of a line, by which a table is looked at."""
_LONGEST_LABEL = 100
_LEAST_GAIN = 0.05
"""Rows within quoted fields that make quotes letters in a file without bad quotes, as a share of the other rows."""
_PROSE = 0.3  #: what a delimiter loses, as a share of the rows, if it may be the punctuation of sentences


def read_delimited(file: TextFile) -> Table:
    """The table of a file of rows, one or more lines each. One without a row, or with a broken header, is refused."""
    lines, inner = file.head_lines, list(map(_disclose, file.head_lines))
    is_enclosed = all(map(str.__ne__, lines, inner)) and bool(_find_table(file, inner, DELIMITERS, _HALF))
    lines = inner if is_enclosed else lines
    layout = _find_layout(file, _find_reading(file, lines))
    if file.delimiter is None and not layout.is_table and _is_prose(lines, layout.reading.form.delimiter):
        layout = _find_layout(file, _read_best(file, lines, _NO_DELIMITER))
    delimiter = layout.reading.form.delimiter
    shown = None if delimiter == _NO_DELIMITER else delimiter
    usual = file.usual_delimiter if file.delimiter is None and len(layout.names) > 1 else None
    if usual and shown and shown != usual:
        parts = f"{show_label(shown)} parts the columns of this file, and {show_label(usual)} of the labelled file"
        raise InvalidDataset(f"{parts}; name the one to take (delimiter)", field=file.field)
    is_told = file.delimiter is None and shown in list(DELIMITERS)[1:]
    told = [f"the columns are separated by {DELIMITERS[delimiter]}"] if is_told else []
    told += ["each line is enclosed in quotes as a whole, which are no part of it"] if is_enclosed else []
    dialect = replace(file.dialect, delimiter=shown, notes=(*file.dialect.notes, *told, *layout.describe()))
    open_lines = (lambda: map(_disclose, file.lines())) if is_enclosed else file.lines
    return Table(layout.names, lambda: _read_rows(file, open_lines(), layout), "csv", dialect, has_raw_bytes=True)


def _disclose(line: str) -> str:
    """A line without the quotes round all of it."""
    found = _ENCLOSED.fullmatch(line)
    return line if found is None else found[1].replace('""', '"') + found[2]


def _find_reading(file: TextFile, lines: Sequence[str]) -> "_Reading":
    """The reading by the delimiter that is named or, if it parts the columns, that of earlier files; or else by the one
    with which most lines have the width of the header.
    """
    if file.delimiter:
        return _read_best(file, lines, file.delimiter)
    usual = file.usual_delimiter or ""
    found = _find_table(file, lines, [usual], _HALF) if usual else None
    return found or _find_table(file, lines, DELIMITERS) or _read_best(file, lines, usual.strip(" ") or ",")


def _find_table(
    file: TextFile, lines: Sequence[str], delimiters: Iterable[str], least: float = -1.0
) -> "_Reading | None":
    """The reading with several columns in which most lines, and more than a share, have the width of the header."""
    best, best_fit = None, (least, 1)
    for delimiter in delimiters:
        reading = _read_best(file, lines, delimiter)
        fit = (reading.share - _PROSE * _is_prose(lines[1:], delimiter), reading.width)
        if reading.width > 1 and fit > best_fit:
            best, best_fit = reading, fit
    return best


def _is_prose(lines: Sequence[str], delimiter: str) -> bool:
    """Whether a space follows most delimiters, as in sentences."""
    number = sum(line.count(delimiter) for line in lines)
    return number > 0 and 2 * sum(line.count(f"{delimiter} ") for line in lines) > number


def _read_best(file: TextFile, lines: Sequence[str], delimiter: str) -> "_Reading":
    """The reading of quotes that loses the fewest lines."""
    usual = _Reading(file, lines, Form(delimiter))
    quoted = [one for line in lines[1:] for one in line.rstrip("\r\n").split(delimiter) if one.startswith('"')]
    num_closed = sum(len(one) > 1 and one.endswith('"') for one in quoted)
    if usual.lost and 2 * num_closed < len(quoted):
        plain = _Reading(file, lines, Form(delimiter, quote=""))
        least = 1 if usual.num_faults else max(_LEAST_GAIN * usual.num_rows, 1)
        if plain.share >= NEARLY_ALL and usual.lost - plain.lost >= least:
            return plain
    return usual


class _Reading:
    """What one reading of delimiters and quotes makes of the first lines of a table."""

    def __init__(self, file: TextFile, lines: Sequence[str], form: Form) -> None:
        self.form, self.records, num_fields = form, list[Record](), 0
        for record in islice((one for one in read_records(lines, form, _LONGEST) if not one.is_blank), _MOST_RECORDS):
            self.records.append(record)
            num_fields += len(record.fields)
            if num_fields > _MOST_FIELDS:
                break
        self.start = find_start([record.fields for record in self.records], file.known) if self.records else 0
        rows = self.records[self.start + 1 :]
        self.width = width = len(self.records[self.start].fields) if self.records else 0
        fitting = [one for one in rows if len(one.fields) == width]
        single = [one.fields for one in fitting if len(one.lines) == 1] if width <= MAX_COLUMNS else []
        counts = [Counter(filter(str.strip, values)) for values in zip(*single, strict=True)]
        self._labels = [{one for one, n in found.items() if n > 1 and len(one) <= _LONGEST_LABEL} for found in counts]
        self.num_rows, self.share = len(fitting), len(fitting) / len(rows) if rows else 1.0
        self.num_faults = sum(one.fault is not None for one in rows)
        others = [one for one in rows if one.fault is None and len(one.fields) != width]
        swallowed = sum(len(one.lines) - 1 for one in fitting if self.swallows(one))
        self.lost = self.num_faults + swallowed + sum(len(one.lines) for one in others)

    def swallows(self, record: Record) -> bool:
        """Whether nearly all lines of a record look like rows of their own: they have the width of the header, and a
        value that several rows have in the same column. A text of several lines has commas too."""
        if len(record.lines) < 2:
            return False
        rows = (line.rstrip("\r\n").split(self.form.delimiter) for line in record.lines)
        same_width = (row for row in rows if len(row) == len(self._labels))
        look_alike = sum(any(map(set.__contains__, self._labels, row)) for row in same_width)
        return look_alike > 1 and look_alike >= NEARLY_ALL * len(record.lines)


@dataclass(frozen=True)
class _Layout:
    """How the records of a file are rows."""

    reading: _Reading
    names: tuple[str, ...]
    begin: int = 1  #: line (from 1) above which nothing is of the table
    has_header: bool = False  #: whether the first record has the names
    is_table: bool = False  #: whether its columns are certainly not the parts of sentences
    takes_rest: bool = False  #: whether the text after a label has delimiters that are not quoted

    def describe(self) -> Iterator[str]:
        if not self.reading.form.quote:
            yield "quotes are read as letters of the texts, because more lines have the columns of the header so"
        if self.begin > 1:
            yield f"the table begins in line {self.begin:,}"
        if self.has_header and len(self.names) == 1 and " " in self.names[0].strip():
            yield f"the first line, {show_label(self.names[0])}, is taken for the name of the column, not for a text"
        if not self.has_header:
            yield f"the first line is a row, so the columns are called {show_names(self.names)}"
        if self.takes_rest:
            yield f"delimiters within column {show_label(self.names[1])} are not quoted, and are read as its text"


def _trim(fields: list[str], width: int) -> list[str]:
    """The fields without empty ones beyond a width."""
    end = len(fields)
    while end > width and not fields[end - 1].strip():
        end -= 1
    return fields[:end]


def _find_layout(file: TextFile, reading: _Reading) -> _Layout:
    if not reading.records:
        file.limits.check_blank(len(file.head_lines), file.field)
        raise DatasetEmpty("the file is empty; it needs named columns, and rows", field=file.field)
    first, *others = reading.records[reading.start :]
    if first.fault is not None:
        raise InvalidDataset(f"the header (line {first.line}) {first.fault.detail}", field=file.field)
    if len(first.fields) > MAX_COLUMNS:
        return _Layout(reading, name_positions(MAX_COLUMNS + 1))
    names = first.fields if reading.form.quote else [_QUOTED_NAME.sub(r"\1", name) for name in first.fields]
    names = _trim(names, max((len(one.fields) for one in others if one.fault is None), default=len(names)))
    rows = [_trim(record.fields, len(names)) for record in others if record.fault is None]
    fitting = [row for row in rows if len(row) == len(names)]
    is_header = has_header(names, fitting, file.known)
    if is_header and (broken := next(filter(None, map(UNDECODED.search, names)), None)):
        words, name = quote_around(broken.string, broken.start()), show_encoding(file.dialect.encoding)
        advice = "name the file's encoding (encoding), or save it as UTF-8"
        raise InvalidDataset(f"the header holds bytes that are not {name} at {words}; {advice}", field=file.field)
    is_table = len(names) == 1 or (is_header and any(map(is_usual, names)))
    is_table = is_table or (len(fitting) >= _HALF * len(rows) and any(map(_are_labels, zip(*fitting, strict=True))))
    shown = tuple(names) if is_header else name_positions(len(names))
    takes_rest = len(names) == 2 and len(fitting) < len(rows) and _are_labels([row[0] for row in rows if row])
    return _Layout(reading, shown, first.line if reading.start else 1, is_header, is_table or takes_rest, takes_rest)


def _are_labels(values: Sequence[str]) -> bool:
    return 2 <= len(set(values)) <= len(values) / 2


def _read_rows(file: TextFile, lines: Iterable[str], layout: _Layout) -> Iterator[Row]:
    names, is_started = layout.names, not layout.has_header
    for record in read_records(lines, layout.reading.form, file.limits.max_row_characters):
        if record.is_blank:
            if record.line >= layout.begin:
                cells = dict(zip(names, record.fields, strict=False))
                yield Row(cells, record.line, empty="fields" if record.fields and is_started else "line")
        elif record.line < layout.begin or not is_started:
            is_started = is_started or record.line >= layout.begin
        elif record.fault is not None:
            yield Row(NO_CELLS, record.line, record.fault)
        else:
            yield _make_row(record, layout)


def _make_row(record: Record, layout: _Layout) -> Row:
    names, fields = layout.names, record.fields
    if len(fields) != len(names):
        fields = _trim(fields, len(names))
        if layout.takes_rest and len(fields) > 2:
            fields = [fields[0], layout.reading.form.delimiter.join(fields[1:])]
    if len(fields) != len(names):
        return Row(NO_CELLS, record.line, _describe_width(record, len(names), layout.reading.form))
    is_header = layout.has_header and len(names) > 1 and tuple(fields) == names  # files were joined
    aside = "with the names of the columns" if is_header else None
    cells = dict(zip(names, fields, strict=True))
    return Row(cells, record.line, aside=aside, is_doubtful=layout.reading.swallows(record))


def _describe_width(record: Record, wanted: int, form: Form) -> Fault:
    remedy = "put quotes round a text with the delimiter or a line break in it"
    if not form.quote:
        why = "quotes are read as letters here, because some are never closed"
        remedy = f"{why}: close these, and write a quote in a quoted text twice"
    fields = f"has {len(record.fields):,} fields where the header has {wanted:,}"
    beginning = quote_around("".join(record.lines), 0)
    return Fault("of another width than the header", f"{fields}; {remedy}; the row begins {beginning}")
