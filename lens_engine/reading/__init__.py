"""Reads texts, labelled or not, from CSV, JSONL, Parquet and inline examples. An error names the field and the row.

open_table       opens a file
content_format   detects its format from the content
dialect          how it is written; finds its delimiter
quoting          whether quotes enclose fields or are letters
encoding         finds its encoding
language         the language of texts
csv_rows  jsonl_rows  parquet_rows   one reader for each format
columns  value_checks   check a header, a JSON value
row_sink         the contract between the readers and what takes their rows
row_collector    takes labelled texts, checks every row: limits, problems, digest, warnings
column_profiles  what is in each column of a file
column_choice    chooses the columns of texts and labels
places           where in a file a fault is
text_collector   takes texts alone, keeps every row, the bad ones with what is wrong
cells            packs the values of all columns of a row
strict_json      JSON that every reader understands in the same way
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lens_engine.errors import InputProblem, InvalidDataset
from lens_engine.reading.column_choice import find_columns, name_columns
from lens_engine.reading.column_profiles import NAMED_ROWS, read_names
from lens_engine.reading.columns import TEXT
from lens_engine.reading.csv_rows import read_csv_rows
from lens_engine.reading.dialect import ANY_DIALECT, UTF8, Dialect, FoundDialect
from lens_engine.reading.errors import BadRows, DatasetEmpty, DatasetTooLarge, UnsupportedDatasetFormat
from lens_engine.reading.jsonl_rows import read_jsonl_rows
from lens_engine.reading.limits import ParsingLimits
from lens_engine.reading.open_table import ParquetTable, Source, TextTable, find_dialect, open_table
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
    "Dialect",
    "InputProblem",
    "InvalidDataset",
    "ParsedDataset",
    "ParsingLimits",
    "ReadTexts",
    "TextRow",
    "UnsupportedDatasetFormat",
    "parse_dataset",
    "parse_inline",
    "read_examples",
    "read_inline_texts",
    "read_texts",
]


def parse_dataset(
    source: Source,
    limits: ParsingLimits,
    *,
    field: str = "dataset",
    text_column: str | None = None,
    label_column: str | None = None,
    dialect: Dialect | FoundDialect = ANY_DIALECT,
) -> ParsedDataset:
    """The labelled texts of a file. The file's content decides the format, not its name.

    Rows without a text or a label are left out, if they are at most a tenth; a warning counts them.

    The call blocks while it reads; an event loop should call it in a thread.

    Args:
        source: the path of the file, or the file, open for reading; it stays open.
        field: name of the dataset in error messages.
        text_column, label_column: names of the columns; None to tell them by their names, which a warning says.
        dialect: how a text file is written; what it leaves open is found, and a warning says so.

    Raises:
        InvalidDataset: the content is wrong; also the subclasses in `lens_engine.reading.errors`. No content raises
            another error.
    """
    names: Sequence[str] = ()
    if text_column is None or label_column is None:
        dialect = find_dialect(source, field, dialect, limits=limits)
        names = read_names(source, dialect, limits=limits)
    columns = name_columns(names, text_column, label_column)
    rows = RowCollector(limits, field, columns.text.name, columns.label.name)
    with open_table(source, limits, field, dialect) as table:
        _read(table, rows)
    return rows.finish(table.format, columns.notes(), table.dialect)


@dataclass(frozen=True, slots=True)
class ReadTexts:
    """The rows of a file of texts, and how the file is written."""

    rows: tuple[TextRow, ...]
    dialect: FoundDialect
    format: DatasetFormat
    num_bytes: int  #: of the rows as they are kept, with all their columns
    sha256: str  #: of the texts, and of what is wrong with them
    columns: tuple[str, ...] = ()  #: names, in the order of the cells of the rows
    text_place: int | None = None  #: index of the column of texts; None if no row has it
    changes: tuple[str, ...] = ()  #: a sentence about what was changed in the other columns, if anything

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence for each oddity that was accepted."""
        return (*self.dialect.notes, *self.changes)


def read_texts(
    source: Source,
    limits: ParsingLimits,
    *,
    column: str = TEXT,
    field: str = "texts",
    dialect: Dialect | FoundDialect = ANY_DIALECT,
) -> ReadTexts:
    """The texts of a CSV, JSONL or Parquet file; it needs no labels. The file's content decides the format.

    Every data row is kept, in order: a bad one, an empty one too, says what is wrong with it. Only blank lines are left
    out.

    Args:
        source: the path of the file, or the file, open for reading; it stays open.
        column: name of the column of texts.
        field: name of the file in error messages.
        dialect: how a text file is written; what it leaves open is found.

    Raises:
        InvalidDataset: the column is missing, or the rest of the file cannot be read.
        OSError: the file cannot be read.
    """
    rows = TextCollector(limits, field, column)
    with open_table(source, limits, field, dialect) as table:
        _read(table, rows)
    return _finish(rows, table.dialect, table.format)


def read_inline_texts(texts: Sequence[str], limits: ParsingLimits) -> ReadTexts:
    """The texts of a JSON body, as `read_texts` of a file with the one column `text`.

    Raises:
        InvalidDataset: they are too many, or too large together.
    """
    rows = TextCollector(limits, "texts", TEXT)
    for text in texts:
        add_value({TEXT: text}, rows)
    return _finish(rows, FoundDialect(UTF8), "inline")


def _finish(rows: TextCollector, dialect: FoundDialect, format: DatasetFormat) -> ReadTexts:
    cells = rows.cells
    return ReadTexts(
        *(tuple(rows.rows), dialect, format, rows.num_bytes, rows.sha256),
        columns=cells.names,
        text_place=cells.text_place,
        changes=rows.notes,
    )


def read_examples(
    path: str | Path,
    *,
    text_column: str | None = None,
    label_column: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> list[Example]:
    """The labelled texts of a trusted CSV, JSONL or Parquet file.

    The file's content decides the format, not its name. Rows without a text or a label are left out, if they are at
    most a tenth. `parse_dataset` also returns warnings, `suggest` says which columns are taken.

    Args:
        text_column, label_column: names of the columns; None to find them, by their names or by what is in them.
        delimiter: of a CSV file; None to find it.
        encoding: of a text file; None to find it.

    Raises:
        InvalidDataset: a column is missing or cannot be told from others, or a row is bad; the error lists the first
            bad rows.
        OSError: the file cannot be read.
    """
    dialect, limits = find_dialect(Path(path), "dataset", Dialect(encoding, delimiter)), ParsingLimits.of_own_files()
    columns = find_columns(Path(path), text_column, label_column, dialect)
    parsed = parse_dataset(
        Path(path), limits, text_column=columns.text.name, label_column=columns.label.name, dialect=dialect
    )
    return list(parsed.examples)


def parse_inline(
    examples: Sequence[Mapping[str, object]],
    limits: ParsingLimits,
    *,
    field: str = "examples",
    text_column: str | None = None,
    label_column: str | None = None,
) -> ParsedDataset:
    """The labelled texts of a JSON body, by the rules of JSONL. A column is a key of each object.

    Args:
        text_column, label_column: as in `parse_dataset`.

    Raises:
        InvalidDataset: as `parse_dataset`.
    """
    names = dict.fromkeys(name for one in examples[:NAMED_ROWS] if isinstance(one, Mapping) for name in one)
    columns = name_columns(list(names), text_column, label_column)
    rows = RowCollector(limits, field, columns.text.name, columns.label.name)
    for item in examples:
        add_value(item, rows)
    return rows.finish("inline", columns.notes())


def _read(table: ParquetTable | TextTable, rows: RowSink) -> None:
    """Give the sink every row of the file."""
    if isinstance(table, ParquetTable):
        read_parquet_rows(table.file, rows)
    elif table.format == "csv":
        read_csv_rows(table.text, rows, table.dialect)
    else:
        read_jsonl_rows(table.text, rows, table.dialect)
