"""Opens a file of rows: Parquet, or text in the encoding and with the delimiter that it is written in."""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from lens_engine.errors import InvalidDataset
from lens_engine.reading.content_format import NUM_SNIFFED_BYTES, TextFormat, detect_text_format, is_parquet
from lens_engine.reading.dialect import (
    ANY_DIALECT,
    DELIMITERS,
    NUM_HEAD_CHARACTERS,
    Dialect,
    FoundDialect,
    find_delimiter,
    show_encoding,
)
from lens_engine.reading.encoding import find_encoding, open_text
from lens_engine.reading.errors import DatasetTooLarge
from lens_engine.reading.limits import ParsingLimits
from lens_engine.reading.quoting import find_quoting

Source = Path | io.BufferedReader
OWN_FILES = ParsingLimits.of_own_files()

_NEWLINES: dict[TextFormat, str] = {"csv": "", "jsonl": "\n"}


@dataclass(frozen=True)
class ParquetTable:
    """An open Parquet file."""

    file: io.BufferedReader
    format: Literal["parquet"] = "parquet"
    dialect: FoundDialect = FoundDialect("utf-8")


@dataclass(frozen=True)
class TextTable:
    """An open CSV or JSONL file."""

    text: io.TextIOWrapper
    format: TextFormat
    dialect: FoundDialect


def find_dialect(
    source: Source,
    field: str,
    dialect: Dialect | FoundDialect,
    usual: Dialect = ANY_DIALECT,
    *,
    limits: ParsingLimits = OWN_FILES,
) -> FoundDialect:
    """How a file is written, for those that read it several times. See `open_table`.

    Raises:
        InvalidDataset, OSError: as `open_table`.
    """
    with open_table(source, limits, field, dialect, usual) as table:
        return table.dialect


@contextmanager
def open_table(
    source: Source,
    limits: ParsingLimits,
    field: str,
    dialect: Dialect | FoundDialect = ANY_DIALECT,
    usual: Dialect = ANY_DIALECT,
) -> Iterator[ParquetTable | TextTable]:
    """Open a file for the block. A file that the caller opened stays open.

    Args:
        source: the path of the file, or the file, open for reading; it is read from its beginning.
        dialect: what is known of the file, or what `find_dialect` found.
        usual: how earlier files were written; it is taken where the file does not tell.

    Raises:
        InvalidDataset: the file is too large, of a format that is not read, or not of its encoding; the last also from
            the block.
        OSError: the file cannot be read.
    """
    with source.open("rb") if isinstance(source, Path) else nullcontext(source) as file:
        num_bytes, most = os.fstat(file.fileno()).st_size, limits.max_bytes
        if num_bytes > most:
            raise DatasetTooLarge(
                f"the file has {num_bytes:,} bytes, more than {most:,}; send a sample of it", field=field
            )
        file.seek(0)
        head = file.read(NUM_SNIFFED_BYTES)
        file.seek(0)
        if is_parquet(head, field, takes_parquet=limits.takes_parquet):
            yield ParquetTable(file)
            return
        if isinstance(dialect, FoundDialect):
            found, delimiter = dialect, dialect.delimiter
        else:
            found, delimiter = find_encoding(file, dialect, usual.encoding, field), dialect.delimiter
        try:
            is_found = isinstance(dialect, FoundDialect)
            with _opened_text(file, found, delimiter, usual.delimiter, field, None if is_found else limits) as table:
                yield table
        except UnicodeError:  # UTF-16 without its mark has no decode error
            name = show_encoding(found.encoding)
            raise InvalidDataset(
                f"the file holds bytes that are not {name}; name its encoding (encoding), or save it as UTF-8",
                field=field,
            ) from None


@contextmanager
def _opened_text(
    file: io.BufferedReader,
    found: FoundDialect,
    delimiter: str | None,
    usual: str | None,
    field: str,
    limits: ParsingLimits | None,
) -> Iterator[TextTable]:
    """The table; without `limits`, it is known how quotes are read."""
    with _detached(open_text(file, found.encoding, "")) as text:
        head = text.read(NUM_HEAD_CHARACTERS)
    file.seek(0)
    file_format = detect_text_format(head, field)
    if file_format == "csv" and delimiter is None:
        delimiter = find_delimiter(head, usual or ",")
        if delimiter in list(DELIMITERS)[1:]:
            found = replace(found, notes=(*found.notes, f"the columns are separated by {DELIMITERS[delimiter]}"))
    if file_format == "csv":
        found = replace(found, delimiter=delimiter)
        if limits is not None and delimiter is not None:
            with _detached(open_text(file, found.encoding, "")) as text:
                quoting = find_quoting(text, delimiter, limits)
            file.seek(0)
            found = replace(found, has_quoting=quoting.encloses, notes=(*found.notes, *quoting.notes))
    with _detached(open_text(file, found.encoding, _NEWLINES[file_format])) as text:
        yield TextTable(text, file_format, found)


@contextmanager
def _detached(text: io.TextIOWrapper) -> Iterator[io.TextIOWrapper]:
    """Detach the text from its file at the end: whoever opened the file closes it."""
    try:
        yield text
    finally:
        text.detach()
