"""Tables of delimited columns (CSV, TSV): their delimiter, quotes, header, and what stands above it.

All is told by the first lines of a file. The reading of quotes wins that loses the fewest of them: a table of a corpus
often has no quoting, and a text may begin with a quote that nothing closes. Read with quoting, such a quote breaks a
row, or swallows all rows up to the next one.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, islice

from lens_engine.errors import InvalidDataset
from lens_engine.reading.columns import DELIMITERS, MAX_COLUMNS, fold_name, has_header, is_usual, name_positions
from lens_engine.reading.dialect import UNDECODED, quote_around, show_encoding
from lens_engine.reading.limits import DatasetEmpty
from lens_engine.reading.shapes.records import Quoting, Record, read_records
from lens_engine.reading.shapes.text_file import TextFile
from lens_engine.reading.table import NO_CELLS, Fault, Row, Table
from lens_engine.task.text_checks import show_names
from lens_engine.task.wording import show_label

_COMMENTS = ("#", "%", "//")  #: beginnings of lines above a table
_ENCLOSED = re.compile(r'"((?:[^"\r\n]|"")*+)"([\r\n]*)')
_QUOTED_NAME = re.compile(r'\A"(.*)"\Z', re.DOTALL)
"""A name in quotes: a header may have them also where quotes are letters of the texts."""
_NO_DELIMITER = "\x1f"
_MOST_RECORDS, _MOST_FIELDS, _LONGEST = 2_000, 200_000, 2**20
"""Records, their fields, and characters of a line, by which a table is looked at."""
_NUM_TELLING = 100  #: records by which a delimiter is found
_TOO_WIDE = 50  #: columns of a table that is not looked at for one that takes the rest of wide rows
_LONGEST_LABEL = 100
_LONGEST_EXTRA = 8  #: spaces and byte order mark that a first name may have more in a header that comes again
_NEARLY_ALL, _HALF = 0.9, 0.5
_LEAST_GAIN = 0.05
"""Rows within quoted fields that make quotes letters in a file without bad quotes, as a share of the other rows."""
_PROSE = 0.3  #: what a delimiter loses, as a share of the rows, if it may be the punctuation of sentences


def read_delimited(file: TextFile) -> Table:
    """The table of a file of rows, one or more lines each. One without a row, or with a broken header, is refused."""
    lines, is_enclosed = _take_quotes_off(file)
    delimiter = file.delimiter or find_delimiter(lines, file.usual_delimiter)
    layout = _find_layout(file, lines, delimiter)
    if file.delimiter is None and not layout.is_table and _is_prose(lines, delimiter):
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
    is_enclosed = num_enclosed >= max(_NEARLY_ALL * len(lines), 1) and _find_by_width(inner, delimiters, _HALF)
    return (inner, True) if is_enclosed else (lines, False)


def find_delimiter(lines: Sequence[str], usual: str | None) -> str:
    """The delimiter of a table that begins with these lines: most rows have as many fields as the header.

    Args:
        usual: the delimiter of earlier files, which is taken if it is one; and for a file of one column.
    """
    if usual and _find_by_width(lines, [usual], _HALF):
        return usual
    lines = list(dropwhile(lambda line: line.startswith(_COMMENTS), lines)) or lines
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
        records = (one for one in read_records(lines, delimiter, Quoting(), _LONGEST) if not one.is_blank)
        table = list(islice(records, _NUM_TELLING))
        if has_title:
            table = list(dropwhile(lambda one: len(one.fields) == 1, table))
        widths = [  # where quotes are letters, they break records
            len(one.fields) if one.fault is None else one.lines[0].count(delimiter) + 1 for one in table
        ]
        header, rows = widths[0] if widths else 0, widths[1:]
        share = rows.count(header) / len(rows) if rows else 1.0
        fit = (share - _PROSE * _is_prose(lines[1:], delimiter), header)
        if header > 1 and fit > best_fit and not (has_title and not any(map(is_usual, table[0].fields))):
            best, best_fit = delimiter, fit
    return best


def _is_prose(lines: Sequence[str], delimiter: str) -> bool:
    """Whether a space follows most delimiters, as in sentences."""
    number = sum(line.count(delimiter) for line in lines)
    return number > 0 and 2 * sum(line.count(f"{delimiter} ") for line in lines) > number


class _Reading:
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
        return look_alike > 1 and look_alike >= _NEARLY_ALL * len(record.lines)

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


def _find_quoting(lines: Sequence[str], delimiter: str) -> tuple[_Reading, str]:
    """How the quotes of a table are read, and what to say of it."""
    edge = re.escape(delimiter)
    usual = _Reading(lines, delimiter, Quoting(skips_spaces=_are_nearly_all(re.compile(f'{edge} +"').search, lines)))
    if usual.quoting.skips_spaces and usual.num_rows < _NEARLY_ALL * usual.num_lines:  # speech in a text
        usual = _Reading(lines, delimiter, Quoting())
    opening, closing = re.compile(f"(?:^|{edge})'"), re.compile(rf"'(?:{edge}|[\r\n]|$)")
    if _are_nearly_all(lambda line: (found := opening.search(line)) and closing.search(line, found.end()), lines):
        single = _Reading(lines, delimiter, Quoting("'", has_escapes=True))
        if single.lost <= usual.lost + (1 - _NEARLY_ALL) * single.num_lines:
            return single, "the fields are enclosed in single quotes"
    if usual.lost and any('\\"' in line for line in lines):
        escaped = _Reading(lines, delimiter, Quoting(has_escapes=True))
        if escaped.lost < usual.lost:
            return escaped, "a quote after a backslash is read as a letter of the text"
    if usual.lost and _are_open(lines, delimiter):
        plain = _Reading(lines, delimiter, Quoting(""))
        least = 1 if usual.num_faults else max(_LEAST_GAIN * usual.num_rows, 1)
        if plain.num_rows >= _NEARLY_ALL * plain.num_lines and usual.lost - plain.lost >= least:
            return (
                plain,
                "quotes are read as letters of the texts, because more lines have the columns of the header so",
            )
    return usual, ""


def _are_nearly_all(fits: Callable[[str], object], lines: Sequence[str]) -> bool:
    filled = [line for line in lines[1:] if not line.isspace()]
    return len(filled) > 1 and sum(map(bool, map(fits, filled))) >= _NEARLY_ALL * len(filled)


def _are_open(lines: Sequence[str], delimiter: str) -> bool:
    """Whether more fields begin with a quote than begin and end with one."""
    quoted = [one for line in lines[1:] for one in line.rstrip("\r\n").split(delimiter) if one.startswith('"')]
    return 2 * sum(len(one) > 1 and one.endswith('"') for one in quoted) < len(quoted)


@dataclass(frozen=True)
class _Layout:
    """How the records of a file are rows."""

    reading: _Reading
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
    reading, note = _find_quoting(lines, delimiter)
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
    is_table = is_table or (num_fitting >= _HALF * len(rows) and has_labels)
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
        number > 1 and not record.fields[0].startswith(_COMMENTS)
        for number, record in zip(filled, records, strict=True)
    )
    start = next((place for place, is_row in enumerate(are_rows) if is_row), 0)
    names, *rows = (record.fields for record in records[start:])
    is_named = any(map(is_usual, names)) or any(one in names for one in known)
    if is_named and has_header(names, [row for row in rows if len(row) == len(names)], known):
        return start
    fields = enumerate(record.fields for record in records)
    return next(place for place, one in fields if len(one) != 1 or not one[0].startswith(_COMMENTS))


def _trim(fields: list[str], width: int) -> list[str]:
    end = len(fields)
    while end > width and not fields[end - 1].strip():
        end -= 1
    return fields[:end]


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
