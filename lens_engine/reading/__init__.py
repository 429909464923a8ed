"""Files to labelled texts: CSV, JSONL, Parquet and inline examples; what is wrong is refused with row and field.

content_format   which format the bytes are in
csv_rows  jsonl_rows  parquet_rows (+ parquet_child)   one reader a format
columns  value_checks  text_checks   what a header, a JSON value and a string may be
row_collector    the one gate every row passes: limits, problems, digest, warnings
strict_json      JSON that means the same to every reader
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
    """The labelled texts of a file; its content decides the format, never its name.

    `field` is what errors call the dataset. Blocks while it reads, so it belongs in a thread.
    Raises InvalidDataset or one of its kinds in `lens_engine.reading.errors`, and nothing else for any content.
    """
    with path.open("rb") as file:
        _check_size(path, limits, field)
        file_format = detect_format(file.read(NUM_SNIFFED_BYTES), field)
        file.seek(0)
        rows = RowCollector(limits, field)
        _READERS[file_format](file, rows)
    return rows.finish(file_format)


def read_examples(path: str | Path) -> list[Example]:
    """The labelled texts of a CSV, JSONL or Parquet file of one's own, with columns `text` and `label`.

    The content decides the format, never the name. Blank rows are left out. `parse_dataset` also gives the warnings.

    Raises:
        InvalidDataset: a column is missing, or a row is bad; the error lists the first bad rows.
        OSError: the file cannot be read.
    """
    return list(parse_dataset(Path(path), ParsingLimits.of_own_files()).examples)


def parse_inline(
    examples: Sequence[Mapping[str, object]], limits: ParsingLimits, *, field: str = "examples"
) -> ParsedDataset:
    """The labelled texts of a JSON body, by the rules of JSONL. Raises as `parse_dataset`."""
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
