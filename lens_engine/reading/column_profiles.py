"""Profiles of all columns of a file, for a guess which ones hold the texts and the labels.

The profiles are lenient: a value that cannot be read is left out, and `parse_dataset` names it. A row after which
nothing can be read is refused here, because nothing can be said of the columns then.
"""

import csv
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import BinaryIO, TextIO

from lens_engine.errors import InvalidDataset
from lens_engine.reading.dialect import SEPARATOR, FoundDialect
from lens_engine.reading.limits import FIELD_TOO_LONG, ParsingLimits
from lens_engine.reading.open_table import OWN_FILES, ParquetTable, Source, TextTable, open_table
from lens_engine.reading.parquet_rows import refusing_damage
from lens_engine.task.text_checks import is_blank
from lens_engine.task.unicode_form import fold_label

MAX_DISTINCT = 200
"""Largest number of distinct values that are counted."""

NAMED_ROWS = 20
"""Number of objects whose keys name the columns."""

_FIELD = "dataset"

Row = Mapping[str, object]


@dataclass(slots=True)
class ColumnProfile:
    """What is in one column."""

    name: str
    num_values: int = 0  #: strings and whole numbers that are not blank
    num_characters: int = 0
    num_others: int = 0  #: values of other types
    distinct: set[str] = field(default_factory=set)  #: at most `MAX_DISTINCT` + 1 values, spellings joined

    @property
    def mean_characters(self) -> float:
        return self.num_characters / max(self.num_values, 1)

    @property
    def num_distinct(self) -> int | None:
        """Number of distinct values; None if there are more than `MAX_DISTINCT`."""
        return len(self.distinct) if len(self.distinct) <= MAX_DISTINCT else None

    def add(self, value: object) -> None:
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if value is None:
            return
        if not isinstance(value, str):
            self.num_others += 1
        elif not is_blank(value):
            self.num_values += 1
            self.num_characters += len(value)
            if len(self.distinct) <= MAX_DISTINCT:
                self.distinct.add(fold_label(value))


def read_names(source: Source, dialect: FoundDialect, *, limits: ParsingLimits = OWN_FILES) -> list[str]:
    """The names of the columns: the header, or the keys of the first objects; none if there is no reading them.

    Raises:
        InvalidDataset: the file is of no known format, or empty.
        OSError: the file cannot be read.
    """
    with open_table(source, limits, _FIELD, dialect) as table, suppress(InvalidDataset):
        rows = islice(_read_rows(table, limits), NAMED_ROWS if table.format == "jsonl" else 1)
        return list(dict.fromkeys(name for row in rows for name in row))
    return []


def profile_columns(source: Source, dialect: FoundDialect) -> list[ColumnProfile]:
    """A profile of each column of a trusted CSV, JSONL or Parquet file, in the order of the file.

    Raises:
        InvalidDataset: the file is of no known format, empty, damaged, or breaks at a row.
        OSError: the file cannot be read.
    """
    profiles: dict[str, ColumnProfile] = {}
    with open_table(source, OWN_FILES, _FIELD, dialect) as table:
        for row in _read_rows(table, OWN_FILES):
            for name, value in row.items():
                profiles.setdefault(name, ColumnProfile(name)).add(value)
    if not profiles:
        raise InvalidDataset("no line of the file is a JSON object with keys; write one object a line", field=_FIELD)
    return list(profiles.values())


def _read_rows(table: ParquetTable | TextTable, limits: ParsingLimits) -> Iterator[Row]:
    """The rows by column. The first of CSV and Parquet names all columns, and has no values."""
    if isinstance(table, ParquetTable):
        yield from _read_parquet(table.file)
    elif table.format == "csv":
        yield from _read_csv(table.text, table.dialect)
    else:
        yield from _read_jsonl(table.text, limits.max_row_characters)


def _read_csv(text: TextIO, dialect: FoundDialect) -> Iterator[Row]:
    records = _read_records(text, dialect)
    header = dialect.read_header(next(records, []))
    yield dict.fromkeys(header)
    for record in records:
        yield dict(zip(header, record, strict=False))


def _read_records(text: TextIO, dialect: FoundDialect) -> Iterator[list[str]]:
    """The records that are not blank."""
    records = csv.reader(text, delimiter=dialect.delimiter or ",", quoting=dialect.quoting)
    line = 1
    try:
        for record in records:
            line = records.line_num + 1
            if any(map(str.strip, record)) and record[0] != SEPARATOR:
                yield record
    except csv.Error:
        raise InvalidDataset(f"the row at line {line:,} {FIELD_TOO_LONG}", field=_FIELD) from None


def _read_jsonl(text: TextIO, max_characters: int) -> Iterator[Row]:
    while line := text.readline(max_characters):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            yield row


def _read_parquet(file: BinaryIO) -> Iterator[Row]:
    from pyarrow import types  # takes a moment to import
    from pyarrow.parquet import ParquetFile

    with refusing_damage(_FIELD):
        table = ParquetFile(file)
        schema = table.schema_arrow
        yield dict.fromkeys(schema.names)
        readable = [
            column.name
            for column in schema
            if types.is_integer(column.type) or types.is_string(column.type) or types.is_large_string(column.type)
        ]
        for batch in table.iter_batches(columns=readable):
            yield from batch.to_pylist()
