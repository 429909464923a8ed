"""What a file is: the first shape that knows its content makes a table of it. The name of a file is not looked at."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from typing import Literal

from lens_engine.errors import InvalidDataset
from lens_engine.files.delimited import read_delimited
from lens_engine.files.json_rows import read_json
from lens_engine.files.limits import DatasetEmpty, DatasetTooLarge, ParsingLimits, UnsupportedDatasetFormat
from lens_engine.files.own_forms import read_arff, read_fast_text, read_lists, read_yaml
from lens_engine.files.table import Row, Table
from lens_engine.files.text_file import ANY_DIALECT, NUM_HEAD_CHARACTERS, Dialect, TextFile, open_text
from lens_engine.files.tools import adapt
from lens_engine.files.trusted import read_columnar, read_folder
from lens_engine.files.workbook import is_workbook, read_workbook

Source = Path | BufferedReader

_NUM_SNIFFED_BYTES = 16
_TEXT_SHAPES = (read_json, read_arff, read_fast_text, read_lists, read_yaml)
_Columnar = Literal["Parquet", "Arrow"]
_COLUMNAR: dict[bytes, _Columnar] = {b"PAR1": "Parquet", b"ARROW1": "Arrow", b"\xff\xff\xff\xff": "Arrow"}
_FOREIGN = {
    b"\x1f\x8b": "compressed with gzip",
    b"PK": "compressed with zip",
    b"\xd0\xcf\x11\xe0": "an old Excel file, or locked by a password",
    b"%PDF-": "a PDF file",
}
"""What a file begins with that is not read, and what it is. Others are told from texts by their control characters."""
_MARKUP = re.compile(r"\s*+<(?:[!?][\w-]|html\b|table\b|[A-Za-z][\w:.-]*+(?:\s[^<>]*+)?>\s*+<[A-Za-z])", re.IGNORECASE)


@contextmanager
def open_table(
    source: Source,
    limits: ParsingLimits,
    field: str,
    dialect: Dialect = ANY_DIALECT,
    usual: Dialect = ANY_DIALECT,
    known: tuple[str, ...] = (),
) -> Iterator[Table]:
    """Open a file, or a folder, for the block. A file that the caller opened stays open.

    Args:
        source, dialect, usual: as of `lens_engine.files.parse_dataset`.
        known: names of columns that the caller knows.

    Raises:
        InvalidDataset: the file is too large, of a format that is not read, or not of its encoding; also from the
            rows of the table.
        OSError: the file cannot be read.
    """
    if isinstance(source, Path) and source.is_dir() and limits.is_trusted:
        yield adapt(read_folder(source, field))
        return
    try:
        opened = source.open("rb") if isinstance(source, Path) else nullcontext(source)
    except FileNotFoundError:
        raise InvalidDataset(f"{source} does not exist", field=field) from None
    with opened as file:
        num_bytes, most = os.fstat(file.fileno()).st_size, limits.max_bytes
        if num_bytes > most:
            told = f"the file has {num_bytes:,} bytes, more than {most:,}; send a sample of it"
            raise DatasetTooLarge(told, field=field)
        table = _read_binary(file, limits, field, known)
        table = table or _read_text(open_text(file, limits, field, dialect, usual, known))
        yield adapt(_bound(table, limits, field))


def _bound(table: Table, limits: ParsingLimits, field: str) -> Table:
    """The table, of which no reading goes on beyond the largest number of rows, or of as many blank lines."""

    def read() -> Iterator[Row]:
        num_rows = num_blank = 0
        for row in table.rows():
            if row.empty:
                num_blank += 1
                limits.check_blank(num_blank, field)
            else:
                num_rows += 1
                limits.check_rows(num_rows, field)
            yield row

    return replace(table, rows=read)


def _read_binary(file: BufferedReader, limits: ParsingLimits, field: str, known: tuple[str, ...]) -> Table | None:
    file.seek(0)
    head = file.read(_NUM_SNIFFED_BYTES)
    for magic, format in _COLUMNAR.items():
        if head.startswith(magic):
            if not limits.is_trusted:
                raise UnsupportedDatasetFormat(f"the file is in {format}; save it as CSV or JSONL", field=field)
            return read_columnar(file, field, format)
    if head.startswith(b"PK\x03\x04") and is_workbook(file):
        return read_workbook(file, field, limits, known)
    if what := next((what for magic, what in _FOREIGN.items() if head.startswith(magic)), None):
        told = f"the file is {what}; save the table as .xlsx, CSV or JSONL, uncompressed"
        raise UnsupportedDatasetFormat(told, field=field)
    return None


def _read_text(file: TextFile) -> Table:
    if not file.head.strip() and len(file.head) < NUM_HEAD_CHARACTERS:
        raise DatasetEmpty("the file is empty; it needs named columns, and rows", field=file.field)
    if (found := next(filter(None, (read(file) for read in _TEXT_SHAPES)), None)) is not None:
        return found
    if _MARKUP.match(file.head):
        raise UnsupportedDatasetFormat("the file is HTML or XML; save the table as CSV or JSONL", field=file.field)
    return read_delimited(file)
