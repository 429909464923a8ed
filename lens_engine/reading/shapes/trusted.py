"""Trusted files and folders: Parquet, Arrow, what Hugging Face datasets saved, two parallel files, texts by label.

Parquet and Arrow are read in this process. Numbers of classes become their names.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lens_engine.errors import InvalidDataset
from lens_engine.reading.limits import ParsingLimits
from lens_engine.reading.table import Row, Table
from lens_engine.task.text_checks import show_names

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch, Schema

_BATCH_ROWS = 1024
_MOST_FILES = 200_000
_LINES_A_LABEL = 2
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


def read_folder(folder: Path, limits: ParsingLimits, field: str) -> Table:
    """The table of a folder.

    Raises:
        InvalidDataset: it is none of these.
    """
    if any((folder / name).exists() for name in ("dataset_dict.json", "state.json")):
        return _read_saved(folder, field)
    entries = sorted(one for one in folder.iterdir() if not one.name.startswith("."))
    files, folders = [one for one in entries if one.is_file()], [one for one in entries if one.is_dir()]
    if len(folders) > 1 and not files and (found := _read_texts(folders, limits)):
        return found
    if len(files) == 2 and not folders and (found := _read_pair(files, limits)):
        return found
    raise InvalidDataset(
        f"the folder holds {show_names([one.name for one in entries]) or 'nothing'}; name a file, or a folder of two "
        "files with as many lines, of texts and of labels, or of one folder of texts for each label, or one that "
        "save_to_disk wrote",
        field=field,
    )


def _read_saved(folder: Path, field: str) -> Table:
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


def _read_texts(folders: list[Path], limits: ParsingLimits) -> Table | None:
    texts = [(one, folder.name) for folder in folders for one in sorted(folder.glob("*.txt"))[:_MOST_FILES]]
    if not texts:
        return None

    def read() -> Iterator[Row]:
        for path, label in texts:
            with path.open(encoding="utf-8-sig", errors="surrogateescape") as file:
                yield Row(
                    {"text": file.read(limits.max_text_characters + 1).strip(), "label": label, "file": path.name}
                )

    kind = "a folder of texts for each label"
    return Table(("text", "label", "file"), read, "folder", kind=kind, text="text", label="label", has_raw_bytes=True)


def _read_pair(files: list[Path], limits: ParsingLimits) -> Table | None:
    """Two files with as many lines; that of the labels has few different ones."""
    longest = limits.max_row_characters
    kinds = [Counter(_read_lines(path, longest)) for path in files]
    sizes = [one.total() for one in kinds]
    is_labels = [len(kind) > 1 and _LINES_A_LABEL * len(kind) <= size for kind, size in zip(kinds, sizes, strict=True)]
    if sizes[0] != sizes[1] or is_labels.count(True) != 1:
        return None
    labels, texts = files if is_labels[0] else reversed(files)

    def read() -> Iterator[Row]:
        both = zip(_read_lines(texts, longest), _read_lines(labels, longest), strict=True)
        for number, (text, label) in enumerate(both, start=1):
            yield Row({"text": text, "label": label}, number)

    kind = f"two parallel files, texts in {texts.name} and labels in {labels.name}"
    return Table(("text", "label"), read, "folder", kind=kind, text="text", label="label", has_raw_bytes=True)


def _read_lines(path: Path, longest: int) -> Iterator[str]:
    """The lines of a file of UTF-8, without their ends. A line that is too long comes cut."""
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="\n") as file:
        while line := file.readline(longest):
            yield line.rstrip("\r\n")
