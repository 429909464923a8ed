"""Tables of delimited columns (CSV, TSV): their delimiter, quotes, header, and what stands above it.

All is told by the first lines of a file.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from lens_engine.errors import InvalidDataset
from lens_engine.reading.columns import DELIMITERS, MAX_COLUMNS, fold_name, has_header, is_usual, name_positions
from lens_engine.reading.dialect import UNDECODED, quote_around, show_encoding
from lens_engine.reading.limits import DatasetEmpty
from lens_engine.reading.shapes.quoting import (
    COMMENTS,
    HALF,
    NEARLY_ALL,
    Reading,
    find_by_width,
    find_delimiter,
    find_quoting,
    is_prose,
)
from lens_engine.reading.shapes.records import Quoting, Record, read_records
from lens_engine.reading.shapes.text_file import TextFile
from lens_engine.reading.table import NO_CELLS, Fault, Row, Table
from lens_engine.task.text_checks import show_names
from lens_engine.task.wording import show_label

_ENCLOSED = re.compile(r'"((?:[^"\r\n]|"")*+)"([\r\n]*)')
_QUOTED_NAME = re.compile(r'\A"(.*)"\Z', re.DOTALL)
"""A name in quotes: a header may have them also where quotes are letters of the texts."""
_NO_DELIMITER = "\x1f"
_TOO_WIDE = 50  #: columns of a table that is not looked at for one that takes the rest of wide rows
_LONGEST_EXTRA = 8  #: spaces and byte order mark that a first name may have more in a header that comes again


def read_delimited(file: TextFile) -> Table:
    """The table of a file of rows, one or more lines each. One without a row, or with a broken header, is refused."""
    lines, is_enclosed = _take_quotes_off(file)
    delimiter = file.delimiter or find_delimiter(lines, file.usual_delimiter)
    layout = _find_layout(file, lines, delimiter)
    if file.delimiter is None and not layout.is_table and is_prose(lines, delimiter):
        layout = _find_layout(file, lines, _NO_DELIMITER)
    shown = None if layout.delimiter == _NO_DELIMITER else layout.delimiter
    usual = file.usual_delimiter if file.delimiter is None and len(layout.names) > 1 else None
    if usual and shown and shown != usual:
        parts = f"{show_label(shown)} parts the columns of this file, and {show_label(usual)} those of earlier files"
        raise InvalidDataset(f"{parts}; name the one to take (delimiter)", field=file.field)
    is_told = file.delimiter is None and shown in list(DELIMITERS)[1:]
    told = [f"the columns are separated by {DELIMITERS[layout.delimiter]}"] if is_told else []
    told += ["each line is enclosed in quotes as a whole, which are no part of it"] if is_enclosed else []
    dialect = replace(file.dialect, delimiter=shown, notes=(*file.dialect.notes, *told, *layout.describe()))
    open_lines = (lambda: map(_disclose, file.lines())) if is_enclosed else file.lines
    return Table(layout.names, lambda: _read_rows(file, open_lines(), layout), "csv", dialect, has_raw_bytes=True)


def _disclose(line: str) -> str:
    found = _ENCLOSED.fullmatch(line)
    return line if found is None else found[1].replace('""', '"') + found[2]


def _take_quotes_off(file: TextFile) -> tuple[list[str], bool]:
    """The first lines; without the quotes round each line, if nearly all have them, with a table in them."""
    lines = file.head_lines
    inner = list(map(_disclose, lines))
    num_enclosed = sum(one != line for one, line in zip(inner, lines, strict=True))
    delimiters = DELIMITERS if file.delimiter is None else [file.delimiter]
    is_enclosed = num_enclosed >= max(NEARLY_ALL * len(lines), 1) and find_by_width(inner, delimiters, HALF)
    return (inner, True) if is_enclosed else (lines, False)


@dataclass(frozen=True)
class _Layout:
    """How the records of a file are rows."""

    reading: Reading
    names: tuple[str, ...]
    begin: int  #: line (from 1) above which nothing is of the table
    header: Sequence[str] | None  #: the names as they are written; None if the first record is a row
    rest: int | None = None  #: place of the column that takes the rest of a row with delimiters in its text
    is_table: bool = False  #: whether its columns are certainly not the parts of sentences
    is_padded: bool = False  #: whether spaces round the delimiters are no part of the values
    note: str = ""

    @property
    def delimiter(self) -> str:
        return self.reading.delimiter

    def describe(self) -> Iterator[str]:
        if self.note:
            yield self.note
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


def _find_layout(file: TextFile, lines: Sequence[str], delimiter: str) -> _Layout:
    reading, note = find_quoting(lines, delimiter)
    if not reading.records:
        file.limits.check_blank(len(lines), file.field)
        raise DatasetEmpty("the file is empty; it needs named columns, and rows", field=file.field)
    start = _find_start(reading.records, file.known)
    first, *others = reading.records[start:]
    begin = first.line if start else 1
    if first.fault is not None:
        raise InvalidDataset(f"the header (line {first.line}) {first.fault.detail}", field=file.field)
    if len(first.fields) > MAX_COLUMNS:
        return _Layout(reading, name_positions(MAX_COLUMNS + 1), 1, None)
    names = first.fields if reading.quoting.character else [_QUOTED_NAME.sub(r"\1", name) for name in first.fields]
    names = _trim(names, max((len(one.fields) for one in others if one.fault is None), default=len(names)))
    rows = [_trim(record.fields, len(names)) for record in others if record.fault is None]
    if is_padded := _are_padded([names, *(row for row in rows if len(row) == len(names))]):
        names, *rows = [[field.strip(" ") for field in row] for row in (names, *rows)]
    fitting = [row for row in rows if len(row) == len(names)]
    is_header = has_header(names, fitting, file.known)
    if is_header:
        _refuse_broken(names, file)
    rest = _find_rest(len(names), rows if is_header else [names, *rows])
    num_fitting = len(fitting) if rest is None else sum(len(row) >= len(names) for row in rows)
    has_labels = any(_are_labels(Counter(values)) for values in zip(*fitting, strict=True))
    is_table = len(names) == 1 or (is_header and any(map(is_usual, names)))
    is_table = is_table or (num_fitting >= HALF * len(rows) and has_labels)
    shown = tuple(names) if is_header else name_positions(len(names))
    return _Layout(reading, shown, begin, names if is_header else None, rest, is_table, is_padded, note)


def _refuse_broken(names: Sequence[str], file: TextFile) -> None:
    broken = next(filter(None, map(UNDECODED.search, names)), None)
    if broken:
        raise InvalidDataset(
            f"the header holds bytes that are not {show_encoding(file.dialect.encoding)} at "
            f"{quote_around(broken.string, broken.start())}; name the file's encoding (encoding), or save it as UTF-8",
            field=file.field,
        )


def _find_start(records: Sequence[Record], known: tuple[str, ...]) -> int:
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


def _trim(fields: list[str], width: int) -> list[str]:
    end = len(fields)
    while end > width and not fields[end - 1].strip():
        end -= 1
    return fields[:end]


def _are_padded(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a space follows, or comes before, each delimiter of the first line, and of nearly all."""
    after = [all(one[:1] == " " for one in row[1:]) for row in rows]
    before = [all(one[-1:] == " " for one in row[:-1]) for row in rows]
    return len(rows[0]) > 1 and any(one[0] and sum(one) >= NEARLY_ALL * len(rows) for one in (after, before))


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
    return None if best is None or shares[best] < NEARLY_ALL else best


def _leave(place: int, width: int, row: Sequence[str]) -> Sequence[str]:
    """A row without the column that takes the rest."""
    return [*row[:place], *row[len(row) - (width - place - 1) :]]


def _read_rows(file: TextFile, lines: Iterable[str], layout: _Layout) -> Iterator[Row]:
    names, quoting, num_blank = layout.names, layout.reading.quoting, 0
    header = list(map(fold_name, layout.header)) if layout.header is not None and len(names) > 1 else None
    is_started = layout.header is None
    for record in read_records(lines, layout.delimiter, quoting, file.limits.max_row_characters):
        if record.is_blank:
            num_blank += 1
            file.limits.check_blank(num_blank, file.field)
            if record.line >= layout.begin:
                cells = dict(zip(names, record.fields, strict=False))
                yield Row(cells, record.line, empty="fields" if record.fields and is_started else "line")
        elif record.line < layout.begin or not is_started:
            is_started = is_started or record.line >= layout.begin
        elif record.fault is not None:
            yield Row(NO_CELLS, record.line, record.fault)
        else:
            is_fit = len(record.fields) == len(names) and not layout.is_padded
            yield _make_row(record, record.fields if is_fit else layout.fit_fields(record.fields), layout, header)


def _make_row(record: Record, fields: list[str], layout: _Layout, header: Sequence[str] | None) -> Row:
    if len(fields) != len(layout.names):
        return Row(NO_CELLS, record.line, _describe_width(record, len(layout.names), layout.reading.quoting))
    cells = dict(zip(layout.names, fields, strict=True))
    can_be_header = header is not None and len(fields[0]) <= len(header[0]) + _LONGEST_EXTRA
    if can_be_header and [fold_name(one.removeprefix("\ufeff")) for one in fields] == header:  # files were joined
        return Row(cells, record.line, aside="with the names of the columns")
    return Row(cells, record.line, is_doubtful=layout.reading.swallows(record))


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
