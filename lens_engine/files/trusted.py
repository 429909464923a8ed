"""Trusted files and folders: Parquet, Arrow, what Hugging Face datasets saved, texts by label.

Parquet and Arrow are read in this process. Numbers of classes become their names.
"""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lens_engine.errors import InvalidDataset
from lens_engine.files.columns import SPLITS
from lens_engine.files.table import Row, Table, name_class
from lens_engine.prompt.text_checks import show_names

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch, Schema

_BATCH_ROWS = 1024
_WORDS, _TEXTS = re.compile("[a-z]+"), ("", ".txt", ".text")
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
    except (ArrowException, MemoryError, UnicodeDecodeError, OSError):
        told = f"the {format} file is damaged, not in UTF-8, larger than the memory, or has what is not supported"
        raise InvalidDataset(f"{told}; write it again, or as JSONL", field=field) from None


def _find_classes(schema: "Schema") -> dict[str, list[str]]:
    """The names of the classes of each column of numbers that has some, as Hugging Face datasets keep them."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"].items()
        return {name: one["names"] for name, one in features if one.get("_type") == "ClassLabel" and one["names"]}
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
    return [name_class(value, classes) for value in values] if classes else values


def read_folder(folder: Path, field: str) -> Table:
    """The table of a folder; one that is none of these is refused."""
    if (folder / "dataset_dict.json").exists():
        found = list(json.loads((folder / "dataset_dict.json").read_text("utf-8")).get("splits", ()))
        if "train" not in found:
            raise InvalidDataset(f"the folder has no split train; name the folder of one of {found}", field=field)
        kind = "a folder of Hugging Face datasets, of which the split train is read"
        return _read_saved(folder / "train", kind, field)
    if (folder / "state.json").exists():
        return _read_saved(folder, "a folder of Hugging Face datasets", field)
    entries = sorted(one for one in folder.iterdir() if not one.name.startswith("."))
    texts = [path for one in entries if all(map(Path.is_dir, entries)) for path in sorted(one.glob("*.txt"))]
    words = {word for one in entries for word in _WORDS.findall(one.stem.casefold())}
    are_classes = all(one.is_file() and one.suffix in _TEXTS for one in entries) and not _NO_CLASSES & words
    if len(entries) < 2 or not (texts or are_classes):
        told = f"the folder holds {show_names([one.name for one in entries]) or 'nothing'}; name a file, or a folder"
        advice = "with a file (.txt) or a folder of texts for each label, or one that save_to_disk wrote"
        raise InvalidDataset(f"{told} {advice}", field=field)

    def read() -> Iterator[Row]:
        for path in texts or entries:
            content = path.read_text(encoding="utf-8-sig", errors="surrogateescape")
            if texts:
                yield Row({"text": content.strip(), "label": path.parent.name})
                continue
            lines = enumerate(content.split("\n"), start=1)
            yield from (Row({"text": text, "label": path.stem}, line) for line, text in lines if text.strip())

    kind = "a folder of texts for each label" if texts else "a folder with a file of texts for each label"
    return Table(("text", "label"), read, "folder", kind=kind, text="text", label="label", has_raw_bytes=True)


def _read_saved(folder: Path, kind: str, field: str) -> Table:
    state = json.loads((folder / "state.json").read_text("utf-8"))
    files = [folder / one["filename"] for one in state["_data_files"]]

    def read() -> Iterator[Row]:
        for path in files:
            with path.open("rb") as file:
                yield from read_columnar(file, field, "Arrow").rows()

    with files[0].open("rb") as file:
        return Table(read_columnar(file, field, "Arrow").names, read, "folder", kind=kind, has_raw_bytes=True)
