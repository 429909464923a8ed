"""Reads labelled texts from CSV, JSONL, Parquet and inline examples. An error names the field and the row.

content_format   detects the format from the bytes
csv_rows  jsonl_rows  parquet_rows (+ parquet_child)   one reader for each format
columns  value_checks  text_checks   check a header, a JSON value, a string
row_collector    checks every row: limits, problems, digest, warnings
strict_json      JSON that every reader understands in the same way
"""

from collections.abc import Callable, Mapping, Sequence
from io import BufferedReader
from pathlib import Path

from lens_engine.errors import InvalidDataset, RowProblem
from lens_engine.reading.content_format import NUM_SNIFFED_BYTES, FileFormat, detect_format
from lens_engine.reading.csv_rows import read_csv_rows
from lens_engine.reading.errors import DatasetEmpty, DatasetTooLarge, UnsupportedDatasetFormat
from lens_engine.reading.jsonl_rows import read_jsonl_rows
from lens_engine.reading.limits import ParsingLimits
from lens_engine.reading.parquet_rows import read_parquet_rows
from lens_engine.reading.parsed_dataset import DatasetFormat, ParsedDataset
from lens_engine.reading.row_collector import RowCollector
from lens_engine.reading.value_checks import add_value
from lens_engine.types import Example

__all__ = [
    "DatasetEmpty",
    "DatasetFormat",
    "DatasetTooLarge",
    "InvalidDataset",
    "ParsedDataset",
    "ParsingLimits",
    "RowProblem",
    "UnsupportedDatasetFormat",
    "parse_dataset",
    "parse_inline",
    "read_examples",
]

_READERS: dict[FileFormat, Callable[[BufferedReader, RowCollector], None]] = {
    "csv": read_csv_rows,
    "jsonl": read_jsonl_rows,
    "parquet": read_parquet_rows,
}


def parse_dataset(path: Path, limits: ParsingLimits, *, field: str = "dataset") -> ParsedDataset:
    """The labelled texts of a file. The file's content decides the format, not its name.

    `field` is the name of the dataset in error messages. The call blocks while it reads; an event loop should call it
    in a thread.

    Raises:
        InvalidDataset: the content is wrong; also the subclasses in `lens_engine.reading.errors`. No content raises
            another error.
    """
    with path.open("rb") as file:
        _check_size(path, limits, field)
        file_format = detect_format(file.read(NUM_SNIFFED_BYTES), field)
        file.seek(0)
        rows = RowCollector(limits, field)
        _READERS[file_format](file, rows)
    return rows.finish(file_format)


def read_examples(path: str | Path) -> list[Example]:
    """The labelled texts of a trusted CSV, JSONL or Parquet file with columns `text` and `label`.

    The file's content decides the format, not its name. Blank rows are left out. `parse_dataset` also returns warnings.

    Raises:
        InvalidDataset: a column is missing, or a row is bad; the error lists the first bad rows.
        OSError: the file cannot be read.
    """
    return list(parse_dataset(Path(path), ParsingLimits.of_own_files()).examples)


def parse_inline(
    examples: Sequence[Mapping[str, object]], limits: ParsingLimits, *, field: str = "examples"
) -> ParsedDataset:
    """The labelled texts of a JSON body, by the rules of JSONL.

    Raises:
        InvalidDataset: as `parse_dataset`.
    """
    rows = RowCollector(limits, field)
    for item in examples:
        add_value(item, rows)
    return rows.finish("inline")


def _check_size(path: Path, limits: ParsingLimits, field: str) -> None:
    num_bytes = path.stat().st_size
    if num_bytes > limits.max_bytes:
        raise DatasetTooLarge(
            f"the file has {num_bytes:,} bytes, more than {limits.max_bytes:,}; send a sample of it", field=field
        )
