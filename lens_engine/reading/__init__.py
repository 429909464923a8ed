"""Reads texts, labelled or not, from CSV, JSONL, Parquet and inline examples. An error names the field and the row.

content_format   detects the format from the bytes
csv_rows  jsonl_rows  parquet_rows   one reader for each format
columns  value_checks  text_checks   check a header, a JSON value, a string
row_sink         the contract between the readers and what takes their rows
row_collector    takes labelled texts, checks every row: limits, problems, digest, warnings
column_profiles  what is in each column of a file, for a guess
text_collector   takes texts alone, keeps every row, the bad ones with what is wrong
strict_json      JSON that every reader understands in the same way
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from io import BufferedReader
from pathlib import Path

from lens_engine.errors import InputProblem, InvalidDataset
from lens_engine.reading.column_profiles import match_columns
from lens_engine.reading.columns import LABEL, TEXT
from lens_engine.reading.content_format import NUM_SNIFFED_BYTES, FileFormat, detect_format
from lens_engine.reading.csv_rows import read_csv_rows
from lens_engine.reading.errors import BadRows, DatasetEmpty, DatasetTooLarge, UnsupportedDatasetFormat
from lens_engine.reading.jsonl_rows import read_jsonl_rows
from lens_engine.reading.limits import ParsingLimits
from lens_engine.reading.parquet_rows import read_parquet_rows
from lens_engine.reading.parsed_dataset import DatasetFormat, ParsedDataset
from lens_engine.reading.row_collector import RowCollector
from lens_engine.reading.row_sink import RowSink
from lens_engine.reading.text_collector import TextCollector, TextRow
from lens_engine.reading.value_checks import add_value
from lens_engine.types import Example

__all__ = [
    "BadRows",
    "DatasetEmpty",
    "DatasetFormat",
    "DatasetTooLarge",
    "InputProblem",
    "InvalidDataset",
    "ParsedDataset",
    "ParsingLimits",
    "TextRow",
    "UnsupportedDatasetFormat",
    "parse_dataset",
    "parse_inline",
    "read_examples",
    "read_texts",
]

_READERS: dict[FileFormat, Callable[[BufferedReader, RowSink], None]] = {
    "csv": read_csv_rows,
    "jsonl": read_jsonl_rows,
    "parquet": read_parquet_rows,
}


def parse_dataset(
    source: Path | BufferedReader,
    limits: ParsingLimits,
    *,
    field: str = "dataset",
    text_column: str = TEXT,
    label_column: str = LABEL,
) -> ParsedDataset:
    """The labelled texts of a file. The file's content decides the format, not its name.

    The call blocks while it reads; an event loop should call it in a thread.

    Args:
        source: the path of the file, or the file, open for reading from its beginning; it stays open.
        field: name of the dataset in error messages.
        text_column: name of the column of texts.
        label_column: name of the column of labels.

    Raises:
        InvalidDataset: the content is wrong; also the subclasses in `lens_engine.reading.errors`. No content raises
            another error.
    """
    rows = RowCollector(limits, field, text_column, label_column)
    return rows.finish(_read(source, rows))


def read_texts(path: Path, limits: ParsingLimits, *, column: str = TEXT, field: str = "texts") -> tuple[TextRow, ...]:
    """The texts of a CSV, JSONL or Parquet file; it needs no labels. The file's content decides the format.

    Every data row is kept, in order: a bad one, an empty one too, says what is wrong with it. Only blank lines are left
    out.

    Args:
        column: name of the column of texts.
        field: name of the file in error messages.

    Raises:
        InvalidDataset: the column is missing, or the rest of the file cannot be read.
        OSError: the file cannot be read.
    """
    rows = TextCollector(limits, field, column)
    _read(path, rows)
    return tuple(rows.rows)


def read_examples(
    path: str | Path, *, text_column: str | None = None, label_column: str | None = None
) -> list[Example]:
    """The labelled texts of a trusted CSV, JSONL or Parquet file.

    The file's content decides the format, not its name. Blank rows are left out. `parse_dataset` also returns warnings.

    Args:
        text_column: name of the column of texts; None for `text`, also in another case.
        label_column: name of the column of labels; None for `label`, also in another case.

    Raises:
        InvalidDataset: a column is missing, or a row is bad; the error lists the first bad rows.
        OSError: the file cannot be read.
    """
    text, label = match_columns(Path(path), {TEXT: text_column, LABEL: label_column})
    limits = ParsingLimits.of_own_files()
    return list(parse_dataset(Path(path), limits, text_column=text, label_column=label).examples)


def parse_inline(
    examples: Sequence[Mapping[str, object]],
    limits: ParsingLimits,
    *,
    field: str = "examples",
    text_column: str = TEXT,
    label_column: str = LABEL,
) -> ParsedDataset:
    """The labelled texts of a JSON body, by the rules of JSONL. A column is a key of each object.

    Raises:
        InvalidDataset: as `parse_dataset`.
    """
    rows = RowCollector(limits, field, text_column, label_column)
    for item in examples:
        add_value(item, rows)
    return rows.finish("inline")


def _read(source: Path | BufferedReader, rows: RowSink) -> FileFormat:
    """Give the sink every row of the file."""
    with source.open("rb") if isinstance(source, Path) else nullcontext(source) as file:
        num_bytes, most = os.fstat(file.fileno()).st_size, rows.limits.max_bytes
        if num_bytes > most:
            raise DatasetTooLarge(
                f"the file has {num_bytes:,} bytes, more than {most:,}; send a sample of it", field=rows.field
            )
        file_format = detect_format(file.read(NUM_SNIFFED_BYTES), rows.field, takes_parquet=rows.limits.takes_parquet)
        file.seek(0)
        _READERS[file_format](file, rows)
    return file_format
