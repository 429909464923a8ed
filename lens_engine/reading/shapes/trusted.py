"""Trusted files and folders: Parquet, Arrow, what Hugging Face datasets saved, texts by label.

Parquet and Arrow are read in this process. Numbers of classes become their names.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lens_engine.errors import InvalidDataset
from lens_engine.reading.columns import SPLITS
from lens_engine.reading.limits import ParsingLimits
from lens_engine.reading.table import Row, Table
from lens_engine.task.text_checks import show_names

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch, Schema

_BATCH_ROWS = 1024
_MOST_FILES = 200_000
_OF_TEXTS = ("", ".txt", ".text")  #: suffixes of files with a text a line
_WORDS = re.compile("[a-z]+")
_NO_CLASSES = SPLITS | {"text", "texts", "label", "labels", "readme", "license", "licence", "mapping", "classes"}
"""Words in the names of files that are no files of one class."""


def read_columnar(file: BufferedReader, field: str, format: Literal["Parquet", "Arrow"]) -> Table:
    """The table of a Parquet file, of an Arrow file, or of a stream of Arrow batches; a damaged one is refused."""
    with _refusing_damage(field, format):
        schema, _ = _open_batches(file, format)
    classes = _find_classes(schema)

    def read() -> Iterator[Row]:
        with _refusing_damage(field, format):
            for batch in _open_batches(file, format)[1]:
                if format == "Arrow":
                    batch.validate(full=True)  # nobody has looked at its offsets
                named = zip(schema.names, batch.columns, strict=True)
                columns = [_read_column(column, classes.get(name)) for name, column in named]
                for cells in zip(*columns, strict=True):
                    yield Row(dict(zip(schema.names, cells, strict=True)))

    return Table(tuple(schema.names), read, "parquet" if format == "Parquet" else "arrow", has_raw_bytes=True)


def _open_batches(file: BufferedReader, format: str) -> tuple["Schema", Iterable["RecordBatch"]]:
    from pyarrow import ipc, parquet  # take a moment to import

    file.seek(0)
    if format == "Parquet":  # row groups are read one after another; closing it would close the caller's file
        groups = parquet.ParquetFile(file, pre_buffer=False)
        return groups.schema_arrow, groups.iter_batches(_BATCH_ROWS)
    if file.peek(6).startswith(b"ARROW1"):
        batches = ipc.open_file(file)
        return batches.schema, map(batches.get_batch, range(batches.num_record_batches))
    stream = ipc.open_stream(file)
    return stream.schema, stream


@contextmanager
def _refusing_damage(field: str, format: str) -> Iterator[None]:
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, UnicodeDecodeError, OSError):
        raise InvalidDataset(
            f"the {format} file is damaged, holds text that is not UTF-8, or uses a feature that is not supported; "
            "write it again, or as JSONL",
            field=field,
        ) from None


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
    """The table of a folder; one that is none of these is refused."""
    if any((folder / name).exists() for name in ("dataset_dict.json", "state.json")):
        return _read_saved(folder, field)
    entries = sorted(one for one in folder.iterdir() if not one.name.startswith("."))
    files, folders = [one for one in entries if one.is_file()], [one for one in entries if one.is_dir()]
    if len(folders) > 1 and not files and (found := _read_texts(folders, limits)):
        return found
    if not folders and (found := _read_classes(files, limits)):
        return found
    raise InvalidDataset(
        f"the folder holds {show_names([one.name for one in entries]) or 'nothing'}; name a file, or a folder with "
        "a file (.txt) or a folder of texts for each label, or one that save_to_disk wrote",
        field=field,
    )


def _read_saved(folder: Path, field: str) -> Table:
    """The table of a folder that Hugging Face datasets wrote (`save_to_disk`); of its train split, if it has splits."""
    splits = folder / "dataset_dict.json"
    if splits.exists():
        found = list(json.loads(splits.read_text("utf-8")).get("splits", ()))
        if "train" not in found:
            raise InvalidDataset(f"the folder has no split train; name the folder of one of {found}", field=field)
        folder = folder / "train"
    state = json.loads((folder / "state.json").read_text("utf-8"))
    files = [folder / one["filename"] for one in state["_data_files"]]

    def read() -> Iterator[Row]:
        for path in files:
            with path.open("rb") as file:
                yield from read_columnar(file, field, "Arrow").rows()

    with files[0].open("rb") as file:
        names = read_columnar(file, field, "Arrow").names
    kind = "a folder of Hugging Face datasets" + (", of which the split train is read" if splits.exists() else "")
    return Table(names, read, "folder", kind=kind, has_raw_bytes=True)


def _read_texts(folders: list[Path], limits: ParsingLimits) -> Table | None:
    texts = [(one, folder.name) for folder in folders for one in sorted(folder.glob("*.txt"))[:_MOST_FILES]]

    def read() -> Iterator[Row]:
        for path, label in texts:
            with path.open(encoding="utf-8-sig", errors="surrogateescape") as file:
                text = file.read(limits.max_text_characters + 1).strip()
                yield Row({"text": text, "label": label, "file": path.name})

    return _make_folder(read, "a folder of texts for each label", "file") if texts else None


def _read_classes(files: list[Path], limits: ParsingLimits) -> Table | None:
    """The lines of texts of several classes; None if a name is that of a split, or of what is no text."""
    words = [set(_WORDS.findall(path.stem.casefold())) for path in files]
    if len(files) < 2 or any(one & _NO_CLASSES for one in words) or any(one.suffix not in _OF_TEXTS for one in files):
        return None

    def read() -> Iterator[Row]:
        for path in files:
            lines = enumerate(_read_lines(path, limits.max_row_characters), start=1)
            yield from (Row({"text": text, "label": path.stem}, line) for line, text in lines if text.strip())

    return _make_folder(read, "a folder with a file of texts for each label")


def _make_folder(read: Callable[[], Iterator[Row]], kind: str, *others: str) -> Table:
    names = ("text", "label", *others)
    return Table(names, read, "folder", kind=kind, text="text", label="label", has_raw_bytes=True)


def _read_lines(path: Path, longest: int) -> Iterator[str]:
    """The lines of a file of UTF-8, without their ends. A line that is too long comes cut."""
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="\n") as file:
        while line := file.readline(longest):
            yield line.rstrip("\r\n")
