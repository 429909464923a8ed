"""Rows of a trusted Parquet file. The file is read in this process, so strangers' files are refused before."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from typing import TYPE_CHECKING, Any

from lens_engine.errors import InvalidDataset
from lens_engine.reading.columns import match_header
from lens_engine.reading.row_sink import NO_CELLS, RowSink
from lens_engine.task.wording import show_label

if TYPE_CHECKING:
    from pyarrow import Array, DataType, RecordBatch
    from pyarrow.parquet import ParquetFile

_BATCH_ROWS = 1024


def read_parquet_rows(file: BufferedReader, rows: RowSink) -> None:
    """Give the sink every row of `file`.

    Raises:
        InvalidDataset: the file is damaged, or a column has a type other than string (or integer, for labels).
    """
    from pyarrow.parquet import ParquetFile  # takes a moment to import

    with refusing_damage(rows.field):
        # Row groups are read one after another; closing it would close the caller's file.
        _read_table(ParquetFile(file, pre_buffer=False), rows)


@contextmanager
def refusing_damage(field: str) -> Iterator[None]:
    """
    Raises:
        InvalidDataset: pyarrow cannot read the file.
    """
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, UnicodeDecodeError, OSError):
        raise InvalidDataset(
            "the Parquet file is damaged, holds text that is not UTF-8, or uses a feature that is not supported; "
            "write it again, or as JSONL",
            field=field,
        ) from None


def _read_table(table: "ParquetFile", rows: RowSink) -> None:
    schema, wanted = table.schema_arrow, rows.columns
    rows.skip_columns(match_header(schema.names, wanted, rows.field).unused)
    for name in wanted.names:
        if not _is_readable(schema.field(name).type, allows_integers=name == wanted.label):
            raise InvalidDataset(
                f"the column `{name}` has the type {show_label(str(schema.field(name).type))}; write it as "
                f"{'string' if name == wanted.text else 'string or integer'}",
                field=f"{rows.field}.{name}",
            )
    for batch in table.iter_batches(_BATCH_ROWS, columns=None if rows.keeps_cells else list(wanted.names)):
        texts = _read_strings(batch, wanted.text)
        labels = _read_strings(batch, wanted.label) if wanted.label is not None else iter([None] * batch.num_rows)
        cells = _read_cells(batch) if rows.keeps_cells else [NO_CELLS] * batch.num_rows
        for text, label, others in zip(texts, labels, cells, strict=True):
            rows.add(text, label, cells=others)


def _read_strings(batch: "RecordBatch", name: str) -> Iterator[Any]:
    """The values of a column as strings: integers in decimal, dictionaries decoded."""
    import pyarrow

    return iter(batch.column(name).cast(pyarrow.large_string()).to_pylist())


def _read_cells(batch: "RecordBatch") -> list[dict[str, object]]:
    """The values of all columns of each row."""
    columns = [_read_any(column) for column in batch.columns]
    return [dict(zip(batch.schema.names, cells, strict=True)) for cells in zip(*columns, strict=True)]


def _read_any(column: "Array[Any]") -> list[object]:
    """The values of a column; as text if Python has no such values, such as a date in the year 10,000."""
    import pyarrow

    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        return [value and value.decode(errors="replace") for value in column.cast(pyarrow.large_binary()).to_pylist()]
    except (LookupError, OverflowError, ValueError):
        return list(column.cast(pyarrow.large_string()).to_pylist())


def _is_readable(arrow_type: "DataType", *, allows_integers: bool) -> bool:
    from pyarrow import types

    if allows_integers and types.is_integer(arrow_type):
        return True
    values = arrow_type.value_type if types.is_dictionary(arrow_type) else arrow_type
    return any(
        is_type(values) for is_type in (types.is_string, types.is_large_string, types.is_string_view, types.is_null)
    )
