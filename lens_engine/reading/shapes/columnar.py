"""Parquet and Arrow, of trusted files alone: they are read in this process. Numbers of classes become their names."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lens_engine.errors import InvalidDataset
from lens_engine.reading.table import Row, Table

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch, Schema

_BATCH_ROWS = 1024
Opened = tuple["Schema", Iterable["RecordBatch"]]


def read_parquet(file: BufferedReader, field: str) -> Table:
    """The table of a Parquet file.

    Raises:
        InvalidDataset: the file is damaged.
    """
    from pyarrow.parquet import ParquetFile  # takes a moment to import

    def open_batches() -> Opened:
        file.seek(0)  # row groups are read one after another; closing it would close the caller's file
        parquet = ParquetFile(file, pre_buffer=False)
        return parquet.schema_arrow, parquet.iter_batches(_BATCH_ROWS)

    return _make_table(open_batches, field, "Parquet")


def read_arrow(file: BufferedReader, field: str) -> Table:
    """The table of an Arrow file, or of a stream of Arrow batches.

    Raises:
        InvalidDataset: the file is damaged.
    """
    from pyarrow import ipc

    def open_batches() -> Opened:
        file.seek(0)
        if file.peek(6).startswith(b"ARROW1"):
            reader = ipc.open_file(file)
            return reader.schema, map(reader.get_batch, range(reader.num_record_batches))
        stream = ipc.open_stream(file)
        return stream.schema, stream

    return _make_table(open_batches, field, "Arrow")


def read_saved_dataset(folder: Path, field: str) -> Table:
    """The table of a folder that `save_to_disk` of Hugging Face datasets wrote; of its train split, if it has splits.

    Raises:
        InvalidDataset: it has no train split, or is damaged.
    """
    splits = folder / "dataset_dict.json"
    if splits.exists():
        names = list(json.loads(splits.read_text("utf-8")).get("splits", ()))
        if "train" not in names:
            raise InvalidDataset(f"the folder has no split train; name the folder of one of {names}", field=field)
        folder = folder / "train"
    files = [
        str(folder / one["filename"]) for one in json.loads((folder / "state.json").read_text("utf-8"))["_data_files"]
    ]

    def read() -> Iterator[Row]:
        for name in files:
            with open(name, "rb") as file:
                yield from read_arrow(file, field).rows()

    with open(files[0], "rb") as file:
        first = read_arrow(file, field)
    kind = "a folder of Hugging Face datasets" + (", of which the split train is read" if splits.exists() else "")
    return Table(first.names, read, "folder", kind=kind, has_raw_bytes=True)


@contextmanager
def _refusing_damage(field: str, format: str) -> Iterator[None]:
    """
    Raises:
        InvalidDataset: pyarrow cannot read the file.
    """
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, UnicodeDecodeError, OSError):
        raise InvalidDataset(
            f"the {format} file is damaged, holds text that is not UTF-8, or uses a feature that is not supported; "
            "write it again, or as JSONL",
            field=field,
        ) from None


def _make_table(open_batches: Callable[[], Opened], field: str, format: str) -> Table:
    with _refusing_damage(field, format):
        schema, _ = open_batches()
    classes = _find_classes(schema)

    def read() -> Iterator[Row]:
        with _refusing_damage(field, format):
            for batch in open_batches()[1]:
                if format == "Arrow":
                    batch.validate(full=True)  # nobody has looked at its offsets
                named = zip(schema.names, batch.columns, strict=True)
                columns = [_read_column(column, classes.get(name)) for name, column in named]
                for cells in zip(*columns, strict=True):
                    yield Row(dict(zip(schema.names, cells, strict=True)))

    return Table(tuple(schema.names), read, "parquet" if format == "Parquet" else "arrow", has_raw_bytes=True)


def _find_classes(schema: "Schema") -> dict[str, list[str]]:
    """The names of the classes of each column of numbers that has some, as Hugging Face datasets keep them."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        return {
            name: one["names"] for name, one in features.items() if one.get("_type") == "ClassLabel" and one["names"]
        }
    except (KeyError, ValueError, TypeError, AttributeError):
        return {}


def _read_column(column: "Array[Any]", classes: list[str] | None) -> list[object]:
    """The values of a column; as text if Python has no such values, such as a date in the year 10,000."""
    import pyarrow

    try:
        values = list(column.to_pylist())
    except UnicodeDecodeError:
        values = column.cast(pyarrow.large_binary()).to_pylist()
        return [value and value.decode(errors="surrogateescape") for value in values]
    except (LookupError, OverflowError, ValueError):
        return list(column.cast(pyarrow.large_string()).to_pylist())
    if classes is None:
        return values
    return [classes[value] if isinstance(value, int) and 0 <= value < len(classes) else value for value in values]
