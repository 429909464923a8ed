"""Profiles of all columns of a file, for a guess which ones hold the texts and the labels.

The profiles are lenient: a value that cannot be read is left out, and reading stops at a row that breaks the table.
`parse_dataset` names such faults.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from lens_engine.errors import InvalidDataset
from lens_engine.reading.columns import match_column
from lens_engine.reading.content_format import NUM_SNIFFED_BYTES, detect_format
from lens_engine.reading.text_checks import is_blank

MAX_DISTINCT = 200
"""Largest number of distinct values that are counted."""

Row = Mapping[str, object]


@dataclass(slots=True)
class ColumnProfile:
    """What is in one column."""

    name: str
    num_values: int = 0  #: strings and whole numbers that are not blank
    num_characters: int = 0
    num_others: int = 0  #: values of other types
    distinct: set[str] = field(default_factory=set)  #: at most `MAX_DISTINCT` + 1 values

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
                self.distinct.add(value)


def match_columns(path: Path, wanted: Mapping[str, str | None]) -> list[str]:
    """The names of the columns to read.

    Args:
        path: a trusted file. If it cannot be read, the usual names are returned: the reader says what is wrong.
        wanted: for each usual name, the name that was given; None: the usual name, or that name in another case.
    """
    found = list[str]()
    if None in wanted.values():
        with suppress(InvalidDataset, OSError):
            found = list(next(_read_rows(path), {}))  # the first row names the columns
    return [given or match_column(found, usual) for usual, given in wanted.items()]


def profile_columns(path: Path) -> list[ColumnProfile]:
    """A profile of each column of a trusted CSV, JSONL or Parquet file, in the order of the file.

    Raises:
        InvalidDataset: the file is of no known format, or empty.
        OSError: the file cannot be read.
    """
    profiles: dict[str, ColumnProfile] = {}
    for row in _read_rows(path):
        for name, value in row.items():
            profiles.setdefault(name, ColumnProfile(name)).add(value)
    return list(profiles.values())


def _read_csv(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        records = (record for record in _until_broken(csv.reader(file)) if any(map(str.strip, record)))
        header = next(records, [])
        yield dict.fromkeys(header)
        for record in records:
            yield dict(zip(header, record, strict=False))


def _until_broken(records: Iterable[list[str]]) -> Iterator[list[str]]:
    try:
        yield from records
    except csv.Error:
        return


def _read_jsonl(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        for line in file:
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(row, dict):
                yield row


def _read_parquet(path: Path) -> Iterator[Row]:
    from pyarrow import ArrowException, types  # takes a moment to import
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as file:
            schema = file.schema_arrow
            yield dict.fromkeys(schema.names)
            readable = [
                column.name
                for column in schema
                if types.is_integer(column.type) or types.is_string(column.type) or types.is_large_string(column.type)
            ]
            for batch in file.iter_batches(columns=readable):
                yield from batch.to_pylist()
    except ArrowException:
        return


_READERS = {"csv": _read_csv, "jsonl": _read_jsonl, "parquet": _read_parquet}


def _read_rows(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        file_format = detect_format(file.read(NUM_SNIFFED_BYTES), "dataset")
    return _READERS[file_format](path)
