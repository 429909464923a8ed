"""Tables of delimited columns (CSV, TSV), with or without a header."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from lens_engine.errors import InvalidDataset
from lens_engine.reading.columns import DELIMITERS, MAX_COLUMNS, fold_name, has_header, is_usual, name_positions
from lens_engine.reading.dialect import UNDECODED, quote_around, show_encoding
from lens_engine.reading.limits import DatasetEmpty
from lens_engine.reading.shapes.quoting import (
    COMMENTS,
    find_delimiter,
    find_quoting,
    is_prose,
    read_table,
    take_quotes_off,
)
from lens_engine.reading.shapes.text_file import Quoting, Record, TextFile
from lens_engine.reading.table import NO_CELLS, Fault, Row, Table
from lens_engine.task.text_checks import show_names
from lens_engine.task.wording import show_label

_ENCLOSED = re.compile(r'\A"(.*)"\Z', re.DOTALL)
"""A name in quotes: a header may have them also where quotes are letters of the texts."""
_RULE = re.compile(r"\s*:?[-=]{2,}:?\s*")  #: a field of a line between header and rows
_NO_DELIMITER = "\x1f"
_MOST_RECORDS, _MOST_FIELDS = 2_000, 200_000
"""Records, with so many fields at most, by which the header and a column that takes the rest of wide rows are found."""
_TOO_WIDE = 50  #: columns of a table that is not looked at for one that takes the rest of wide rows
_NEARLY_ALL = 0.9
_LONGEST_EXTRA = 8  #: spaces and byte order mark that a first name may have more in a header that comes again
_LEAST_FIT = 0.5  #: share of the rows that must be as wide as the first line, for a table of more columns than one


def read_delimited(file: TextFile) -> Table:
    """The table of a file of rows, one or more lines each. One without a row, or with a broken header, is refused."""
    file = take_quotes_off(file)
    delimiter = file.delimiter or find_delimiter(file.head_lines, file.usual_delimiter)
    quoting, notes = find_quoting(file, delimiter)
    layout = _find_layout(file, delimiter, quoting)
    if file.delimiter is None and not layout.is_table and is_prose(file.head_lines, delimiter):
        layout = _find_layout(file, _NO_DELIMITER, quoting)
    shown = None if layout.delimiter == _NO_DELIMITER else layout.delimiter
    usual = file.usual_delimiter if file.delimiter is None and len(layout.names) > 1 else None
    if usual and shown and shown != usual:
        parts = f"{show_label(shown)} parts the columns of this file, and {show_label(usual)} those of earlier files"
        raise InvalidDataset(f"{parts}; name the one to take (delimiter)", field=file.field)
    is_told = file.delimiter is None and shown in list(DELIMITERS)[1:]
    told = [f"the columns are separated by {DELIMITERS[layout.delimiter]}"] if is_told else []
    told += ["each line is enclosed in quotes as a whole, which are no part of it"] if file.is_enclosed else []
    notes = (*file.dialect.notes, *told, *notes, *layout.describe())
    dialect = replace(file.dialect, delimiter=shown, notes=notes)
    return Table(layout.names, lambda: _read_rows(file, layout), "csv", dialect, has_raw_bytes=True)


@dataclass(frozen=True)
class _Layout:
    """How the records of a file are rows."""

    delimiter: str
    quoting: Quoting
    names: tuple[str, ...]
    begin: int  #: line (from 1) above which nothing is of the table
    header: Sequence[str] | None  #: the names as they are written; None if the first record is a row
    rest: int | None  #: place of the column that takes the rest of a row with delimiters in its text
    is_table: bool  #: whether its columns are certainly not the parts of sentences
    is_padded: bool  #: whether spaces round the delimiters are no part of the values
    rule: int = 0  #: line below the header that parts it from the rows; 0 if there is none

    def describe(self) -> Iterator[str]:
        if self.begin > 1:
            yield f"the table begins in line {self.begin:,}"
        if self.header is None:
            yield f"the first line is a row, so the columns are called {show_names(self.names)}"
        if self.rest is not None:
            name = show_label(self.names[self.rest])
            yield f"delimiters within column {name} are not quoted, and are read as its text"
        if self.is_padded:
            yield "spaces round the delimiters are no part of the values"

    def fit_fields(self, fields: list[str]) -> list[str]:
        """The fields of a record, without empty ones beyond the last column, and the rest in its column."""
        width = len(self.names)
        fields = _trim(fields, width)
        if len(fields) > width and self.rest is not None:
            end = len(fields) - (width - self.rest - 1)
            fields = [*fields[: self.rest], self.delimiter.join(fields[self.rest : end]), *fields[end:]]
        return [field.strip(" ") for field in fields] if self.is_padded else fields


def _trim(fields: list[str], width: int) -> list[str]:
    end = len(fields)
    while end > width and not fields[end - 1].strip():
        end -= 1
    return fields[:end]


def _find_layout(file: TextFile, delimiter: str, quoting: Quoting) -> _Layout:
    records = list(_take_first(read_table(file, delimiter, quoting)))
    if not records:
        raise DatasetEmpty("the file is empty; it needs named columns, and rows", field=file.field)
    num_titles = _count_titles(records, file.known)
    first, *others = records[num_titles:]
    if first.fault is not None:
        raise InvalidDataset(f"the header (line {first.line}) {first.fault.detail}", field=file.field)
    if len(first.fields) > MAX_COLUMNS:
        too_many = name_positions(MAX_COLUMNS + 1)
        return _Layout(delimiter, quoting, too_many, 1, None, None, is_table=False, is_padded=False)
    names = list(first.fields) if quoting.character else [_ENCLOSED.sub(r"\1", name) for name in first.fields]
    names = _trim(names, max((len(one.fields) for one in others if one.fault is None), default=len(names)))
    rows = [_trim(record.fields, len(names)) for record in others if record.fault is None]
    wide = [row for row in rows if len(row) == len(names) + 1]
    if rows and len(wide) >= _NEARLY_ALL * len(rows) and all(row[0].isdigit() for row in wide):
        names = ["", *names]  # R writes the numbers of rows without a name
    fitting = [row for row in rows if len(row) == len(names)]
    is_padded = _are_padded([names, *fitting])
    if is_padded:
        names, *fitting = [[field.strip(" ") for field in row] for row in (names, *fitting)]
    is_header = has_header(names, fitting, file.known)
    rest = _find_rest(len(names), rows if is_header else [names, *rows])
    broken = next(filter(None, map(UNDECODED.search, names)), None)
    if is_header and broken:
        raise InvalidDataset(
            f"the header holds bytes that are not {show_encoding(file.dialect.encoding)} at "
            f"{quote_around(broken.string, broken.start())}; name the file's encoding (encoding), or save it as UTF-8",
            field=file.field,
        )
    num_fitting = len(fitting) if rest is None else sum(len(row) >= len(names) for row in rows)
    has_labels = any(_are_labels(Counter(values)) for values in zip(*fitting, strict=True))
    is_table = len(names) == 1 or (is_header and any(map(is_usual, names)))
    is_table = is_table or (num_fitting >= _LEAST_FIT * len(rows) and has_labels)
    shown = _name_columns(names, fitting) if is_header else name_positions(len(names))
    begin, header = first.line if num_titles else 1, names if is_header else None
    rules = [one.line for one in others if len(one.fields) > 1 and all(map(_RULE.fullmatch, one.fields))]
    rule = rules[0] if is_header and rules and rules == [one.line for one in others[:1]] else 0
    return _Layout(delimiter, quoting, shown, begin, header, rest, is_table, is_padded, rule)


def _take_first(records: Iterator[Record]) -> Iterator[Record]:
    """The first records that are not blank."""
    num_fields = 0
    for record in islice((one for one in records if not one.is_blank), _MOST_RECORDS):
        yield record
        num_fields += len(record.fields)
        if num_fields > _MOST_FIELDS:
            return


def _name_columns(names: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The names; of several columns without one, those with a value in most rows are called by their places."""
    empty = [place for place, name in enumerate(names) if not name.strip()]
    filled = {place for place in empty[:MAX_COLUMNS] if 2 * sum(bool(row[place].strip()) for row in rows) > len(rows)}
    named = {place: f"column {place + 1}" for place in filled} if len(empty) > 1 else {}
    free = {place: name for place, name in named.items() if name not in names}
    return tuple(free.get(place, name) for place, name in enumerate(names))


def _count_titles(records: Sequence[Record], known: tuple[str, ...]) -> int:
    """The number of comments above a table; above a header also of lines with one field, which is no usual name."""
    filled = [sum(map(bool, map(str.strip, record.fields))) for record in records]
    first = records[0].fields
    if 2 * sum(number > 1 for number in filled) <= len(records) or not first or is_usual(first[0]):
        return 0
    are_rows = (
        number > 1 and not record.fields[0].startswith(COMMENTS) for number, record in zip(filled, records, strict=True)
    )
    start = next((place for place, is_row in enumerate(are_rows) if is_row), 0)
    names, *rows = (record.fields for record in records[start:])
    is_named = any(map(is_usual, names)) or any(one in names for one in known)
    if is_named and has_header(names, [row for row in rows if len(row) == len(names)], known):
        return start
    fields = enumerate(record.fields for record in records)
    return next(place for place, one in fields if len(one) != 1 or not one[0].startswith(COMMENTS))


def _are_padded(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a space follows, or comes before, each delimiter of the first line, and of nearly all."""
    after = [all(one[:1] == " " for one in row[1:]) for row in rows]
    before = [all(one[-1:] == " " for one in row[:-1]) for row in rows]
    return len(rows[0]) > 1 and any(one[0] and sum(one) >= _NEARLY_ALL * len(rows) for one in (after, before))


def _are_labels(counts: Counter[str]) -> bool:
    return len(counts) > 1 and 2 * len(counts) <= counts.total()


def _find_rest(width: int, rows: Sequence[Sequence[str]]) -> int | None:
    """The column of texts with unquoted delimiters: without it, wide rows have known labels in the other columns."""
    wide = [row for row in rows if len(row) > width]
    shares = dict[int, float]()
    for place in range(width) if wide and 1 < width < _TOO_WIDE else ():
        filled = [_leave(place, width, row) for row in rows if len(row) >= width]
        columns = [Counter(values) for values in zip(*filled, strict=True)]
        closed = [number for number, one in enumerate(columns) if _are_labels(one)]
        if closed and len(closed) >= width - 2:
            others = [_leave(place, width, row) for row in wide]
            known = sum(all(columns[number][row[number]] > 1 for number in closed) for row in others)
            shares[place] = known / len(wide)
    best = max(shares, key=lambda place: shares[place], default=None)
    return None if best is None or shares[best] < _NEARLY_ALL else best


def _leave(place: int, width: int, row: Sequence[str]) -> Sequence[str]:
    """A row without the column that takes the rest."""
    return [*row[:place], *row[len(row) - (width - place - 1) :]]


def _read_rows(file: TextFile, layout: _Layout) -> Iterator[Row]:
    names, is_started = layout.names, layout.header is None
    header = list(map(fold_name, layout.header)) if layout.header is not None and len(names) > 1 else None
    for record in read_table(file, layout.delimiter, layout.quoting):
        if record.line < layout.begin or record.line == layout.rule:
            continue
        if record.is_blank:
            cells = dict(zip(names, record.fields, strict=False))
            yield Row(cells, record.line, empty="fields" if record.fields and is_started else "line")
        elif not is_started:
            is_started = True
        elif record.fault is not None:
            yield Row(NO_CELLS, record.line, record.fault)
        else:
            is_fit = len(record.fields) == len(names) and not layout.is_padded
            fields = record.fields if is_fit else layout.fit_fields(record.fields)
            if len(fields) == len(names):
                aside = "with the names of the columns" if _is_header(fields, header) else None  # files were joined
                yield Row(dict(zip(names, fields, strict=True)), record.line, aside=aside)
            else:
                yield Row(NO_CELLS, record.line, _describe_width(record, len(names), layout.quoting))


def _is_header(fields: Sequence[str], header: Sequence[str] | None) -> bool:
    if header is None or len(fields[0]) > len(header[0]) + _LONGEST_EXTRA:
        return False
    return [fold_name(one.removeprefix("\ufeff")) for one in fields] == header


def _describe_width(record: Record, wanted: int, quoting: Quoting) -> Fault:
    remedy = (
        "put quotes round a text with the delimiter or a line break in it"
        if quoting.character
        else "quotes are read as letters here, because some are never closed: close these, and write a quote in a "
        "quoted text twice"
    )
    fields = f"has {len(record.fields):,} fields where the header has {wanted:,}"
    beginning = quote_around("".join(record.lines), 0)
    return Fault("of another width than the header", f"{fields}; {remedy}; the row begins {beginning}")
