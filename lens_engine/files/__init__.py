"""Reads texts, labelled or not, from files of any usual shape and from inline examples, in three rooms: bytes, a table
of named columns, rows. An error names field and row.

text_file    bytes: the encoding is found; the lines of a file, and where in it a fault is
trusted      tables of Parquet and Arrow, and of folders; other shapes: workbook, json_rows, own_forms (fastText, ARFF,
             lists below intents), delimited; and tools, for exports in any
table        the contract between the shapes and what takes their rows; values of rows as text and label
columns      usual names; the column that is meant; where a table begins and whether it has names
choice       chooses the columns of texts and labels, by their names or by what is in them
rows         takes the rows of a table: labelled texts, of which every one is checked, or texts alone with all cells
limits       caps on a file, and the errors of one that is refused
strict_json  JSON that every reader understands in the same way
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from typing import Literal

from lens_engine.errors import InvalidDataset as InvalidDataset
from lens_engine.files.choice import ANY_COLUMNS
from lens_engine.files.choice import Named as Named
from lens_engine.files.delimited import read_delimited
from lens_engine.files.json_rows import read_json
from lens_engine.files.limits import BadRows as BadRows
from lens_engine.files.limits import DatasetEmpty as DatasetEmpty
from lens_engine.files.limits import DatasetTooLarge as DatasetTooLarge
from lens_engine.files.limits import ParsingLimits as ParsingLimits
from lens_engine.files.limits import UnsupportedDatasetFormat as UnsupportedDatasetFormat
from lens_engine.files.own_forms import read_arff, read_fast_text, read_lists, read_yaml
from lens_engine.files.rows import ParsedDataset as ParsedDataset
from lens_engine.files.rows import ReadTexts as ReadTexts
from lens_engine.files.rows import TextRow as TextRow
from lens_engine.files.rows import collect_rows, collect_texts
from lens_engine.files.table import NAMED_ROWS, TEXT, ColumnNames, Fault, Row, Table
from lens_engine.files.text_file import ANY_DIALECT, NUM_HEAD_CHARACTERS, TextFile, open_text
from lens_engine.files.text_file import Dialect as Dialect
from lens_engine.files.tools import adapt
from lens_engine.files.trusted import read_columnar, read_folder
from lens_engine.files.workbook import is_workbook, read_workbook
from lens_engine.types import Example

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


def parse_dataset(
    source: Source,
    limits: ParsingLimits,
    *,
    field: str = "dataset",
    columns: Named = ANY_COLUMNS,
    dialect: Dialect = ANY_DIALECT,
    usual: Dialect = ANY_DIALECT,
) -> ParsedDataset:
    """The labelled texts of a file. The file's content decides its shape, not its name.

    Rows that cannot be used are left out, if they are at most a tenth; warnings count them. Rows without a label may be
    more, if the limits say so.

    Args:
        source: the path of the file, or the file, open for reading; it stays open. A trusted source may be a folder.
        field: name of the dataset in error messages.
        columns: those that the caller knows. Others are found by their names or by what is in them; a warning says so.
        dialect: how a text file is written; what it leaves open is found, and a warning says so.
        usual: how earlier files were written; it is taken where the file does not tell.

    Raises:
        InvalidDataset: the file cannot be used; see `lens_engine.files.limits`. No content raises another error.
    """
    with _open_table(source, limits, field, dialect, usual, columns.names) as table:
        return collect_rows(table, columns, limits, field)


def read_texts(
    source: Source,
    limits: ParsingLimits,
    *,
    columns: Named = ANY_COLUMNS,
    field: str = "texts",
    dialect: Dialect = ANY_DIALECT,
    usual: Dialect = ANY_DIALECT,
) -> ReadTexts:
    """The texts of a file; it needs no labels. Arguments and errors as of `parse_dataset`.

    Every data row is kept, in order: a bad one, an empty one too, says what is wrong with it. Only blank lines are left
    out.
    """
    with _open_table(source, limits, field, dialect, usual, columns.names) as table:
        return collect_texts(table, columns, limits, field)


def read_inline_texts(texts: Sequence[str], limits: ParsingLimits) -> ReadTexts:
    """The texts of a JSON body, as `read_texts` of a file with the one column `text`."""
    table = Table((TEXT,), lambda: (Row({TEXT: text}) for text in texts), "inline")
    return collect_texts(table, Named(TEXT), limits, "texts")


def read_examples(
    path: str | Path,
    *,
    text_column: ColumnNames | None = None,
    label_column: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> list[Example]:
    """The labelled texts of a trusted file, or of a folder.

    `parse_dataset` also returns warnings, `suggest` says which columns are taken.

    Args:
        text_column, label_column: names of the columns; None to find them, by their names or by what is in them. Of
            several columns, the texts are joined.
        delimiter: of a CSV file; None to find it.
        encoding: of a text file; None to find it.

    Raises:
        InvalidDataset: as `parse_dataset`.
    """
    dialect, limits = Dialect(encoding, delimiter), ParsingLimits.of_own_files()
    return list(parse_dataset(Path(path), limits, columns=Named(text_column, label_column), dialect=dialect).examples)


def parse_inline(
    examples: Sequence[Mapping[str, object]],
    limits: ParsingLimits,
    *,
    field: str = "examples",
    columns: Named = ANY_COLUMNS,
) -> ParsedDataset:
    """The labelled texts of a JSON body, as `parse_dataset` reads JSON Lines. A column is a key of each object."""
    no_object = Row({}, fault=Fault("without a JSON object", "is not a JSON object"))
    rows = [Row(one) if isinstance(one, Mapping) else no_object for one in examples]
    names = tuple(dict.fromkeys(name for one in rows[:NAMED_ROWS] for name in one.cells))
    table = Table(names, lambda: iter(rows), "inline", has_header=False)
    return collect_rows(table, columns, limits, field)


@contextmanager
def _open_table(
    source: Source, limits: ParsingLimits, field: str, dialect: Dialect, usual: Dialect, known: tuple[str, ...]
) -> Iterator[Table]:
    """The table of a file or folder, which is open for the block. The first shape that knows its content makes it."""
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
