"""Reads texts, labelled or not, from files of any usual shape and from inline examples, in three rooms: bytes, a table
of named columns, rows. An error names field and row.

text_file    bytes: the encoding is found; the lines of a file, and where in it a fault is
opening      what a file is, by its content. Its shapes: trusted (Parquet, Arrow, folders), workbook, json_rows,
             own_forms (fastText, ARFF, lists below intents), delimited; and tools, for exports in any
table        the contract between the shapes and what takes their rows; values of rows as text and label
columns      usual names; the column that is meant; where a table begins and whether it has names
choice       chooses the columns of texts and labels, by their names or by what is in them
rows         takes the rows of a table: labelled texts, of which every one is checked, or texts alone with all cells
limits       caps on a file, and the errors of one that is refused
strict_json  JSON that every reader understands in the same way
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from lens_engine.errors import InputProblem, InvalidDataset
from lens_engine.files.choice import ANY_COLUMNS, Named
from lens_engine.files.limits import BadRows, DatasetEmpty, DatasetTooLarge, ParsingLimits, UnsupportedDatasetFormat
from lens_engine.files.opening import Source, open_table
from lens_engine.files.rows import ParsedDataset, ReadTexts, TextRow, collect_rows, collect_texts
from lens_engine.files.table import NAMED_ROWS, TEXT, ColumnNames, DatasetFormat, Fault, Row, Table
from lens_engine.files.text_file import ANY_DIALECT, Dialect
from lens_engine.types import Example

__all__ = [
    "BadRows",
    "DatasetEmpty",
    "DatasetFormat",
    "DatasetTooLarge",
    "Dialect",
    "InputProblem",
    "InvalidDataset",
    "Named",
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
    with open_table(source, limits, field, dialect, usual, columns.names) as table:
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
    with open_table(source, limits, field, dialect, usual, columns.names) as table:
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
    """The labelled texts of a JSON body, by the rules of JSON Lines; errors as of `parse_dataset`. A column is a key of
    each object.
    """
    no_object = Row({}, fault=Fault("that are no JSON objects", "is not a JSON object"))
    rows = [Row(one) if isinstance(one, Mapping) else no_object for one in examples]
    names = tuple(dict.fromkeys(name for one in rows[:NAMED_ROWS] for name in one.cells))
    table = Table(names, lambda: iter(rows), "inline", has_header=False)
    return collect_rows(table, columns, limits, field)
