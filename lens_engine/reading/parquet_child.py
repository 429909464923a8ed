"""Reads one Parquet file in a child process and writes its rows as JSON lines.

Runs as a script and imports nothing of the service. Standard input is the file. Two JSON arguments are the caps, and
the names of the columns of texts and of labels (null if no labels are wanted). Standard output is a header
`{"columns", "num_rows"}`, rows `[text, label]`, and a last line `{"num_rows"}`. The message `{"failure": "encoding"}`
takes the place of a row that is not UTF-8. Another failure ends the output at any point with `{"failure", ...}`. After
a crash the last line is missing. The parent checks everything again, so it need not trust this process.
"""

import json
import resource
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

_BATCH_ROWS = 1024
_MAX_NAME_CHARACTERS = 100
_OVERHEAD_BYTES = 9
"""Bytes of a value besides its characters: an offset and a validity bit."""

Caps = dict[str, int]


@dataclass(frozen=True)
class Columns:
    """The names of the columns to read."""

    text: str
    label: str | None

    @property
    def names(self) -> list[str]:
        return [self.text] if self.label is None else [self.text, self.label]


def main() -> None:
    caps: Caps = json.loads(sys.argv[1])
    columns = Columns(*json.loads(sys.argv[2]))
    limit_resources(caps)
    try:
        for message in read_messages(caps, columns):
            sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()
    except MemoryError:
        sys.stdout.write(json.dumps({"failure": "memory"}) + "\n")


def limit_resources(caps: Caps) -> None:
    """Set the kernel's limits on this process, before any byte of the file is read."""
    wanted = {
        resource.RLIMIT_AS: caps["memory_bytes"],
        resource.RLIMIT_CPU: caps["seconds"],
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
    }
    for kind, amount in wanted.items():
        hard = resource.getrlimit(kind)[1]
        most = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
        resource.setrlimit(kind, (most, most))


def read_messages(caps: Caps, columns: Columns) -> Iterator[object]:
    """The lines to write, in order."""
    import pyarrow
    from pyarrow.parquet import ParquetFile

    pyarrow.set_cpu_count(1)
    file = ParquetFile(sys.stdin.buffer, pre_buffer=False, buffer_size=2**16)
    schema, num_rows = file.schema_arrow, file.metadata.num_rows
    yield {"columns": list(map(_shorten, schema.names, range(caps["columns"] + 1))), "num_rows": num_rows}
    if num_rows > caps["rows"] or any(schema.names.count(name) != 1 for name in columns.names):
        return  # the parent refuses the file by its header
    for name in columns.names:
        if not _is_readable(schema.field(name).type, allows_integers=name == columns.label):
            yield {"failure": "type", "column": name, "type": str(schema.field(name).type)[:_MAX_NAME_CHARACTERS]}
            return
    yield from _read_rows(file, caps, columns)


def _read_rows(file: "ParquetFile", caps: Caps, columns: Columns) -> Iterator[object]:
    # Counted before the first row is written, so that a decompression bomb costs the parent nothing.
    if _count_bytes(file, caps["bytes"], columns) > caps["bytes"]:
        yield {"failure": "bytes"}
        return
    num_rows = 0
    for batch in _read_batches(file, columns):
        num_rows += batch.num_rows
        while (bad_row := _find_invalid(batch)) is not None:
            yield from _write_rows(batch.slice(0, bad_row), caps, columns)
            yield {"failure": "encoding"}
            batch = batch.slice(bad_row + 1)
        yield from _write_rows(batch, caps, columns)
    yield {"num_rows": num_rows}


def _write_rows(batch: "pa.RecordBatch", caps: Caps, columns: Columns) -> Iterator[object]:
    texts = _write_strings(batch.column(columns.text)).to_pylist()
    labels = [None] * len(texts) if columns.label is None else _write_strings(batch.column(columns.label)).to_pylist()
    for text, label in zip(texts, labels, strict=True):
        yield [_cut(text, caps["text_characters"]), _cut(label, caps["label_characters"])]


def _count_bytes(file: "ParquetFile", most: int, columns: Columns) -> int:
    """Bytes of the texts and labels; the count ends when it exceeds `most`."""
    num_bytes = 0
    for batch in _read_batches(file, columns):
        _find_invalid(batch)  # raises if the bytes cannot be counted
        for name in columns.names:
            num_bytes += _write_strings(batch.column(name)).nbytes - _OVERHEAD_BYTES * (batch.num_rows + 1)
        if num_bytes > most:
            break
    return num_bytes


def _read_batches(file: "ParquetFile", columns: Columns) -> "Iterator[pa.RecordBatch]":
    return iter(file.iter_batches(_BATCH_ROWS, columns=columns.names, use_threads=False))


def _write_strings(column: "pa.Array[Any]") -> "pa.Array[Any]":
    """The column as strings: integers in decimal, dictionaries decoded, so that bytes can be counted."""
    import pyarrow

    return column.cast(pyarrow.large_string())


def _find_invalid(batch: "pa.RecordBatch") -> int | None:
    """The first row of the batch that is not UTF-8; None if there is none. A batch with another fault raises."""
    import pyarrow

    try:
        batch.validate(full=True)
    except pyarrow.ArrowInvalid:
        batch.validate()
        bad_row = next((row for row in range(batch.num_rows) if not _is_utf8(batch, row)), None)
        # A bad value of the dictionary may belong to another batch.
        if bad_row is None and not any(pyarrow.types.is_dictionary(column.type) for column in batch.columns):
            raise
        return bad_row
    return None


def _is_utf8(batch: "pa.RecordBatch", row: int) -> bool:
    try:
        for column in batch.columns:
            column[row].as_py()
    except UnicodeDecodeError:
        return False
    return True


def _is_readable(arrow_type: "pa.DataType", *, allows_integers: bool) -> bool:
    from pyarrow import types

    if allows_integers and types.is_integer(arrow_type):
        return True
    values = arrow_type.value_type if types.is_dictionary(arrow_type) else arrow_type
    return any(
        is_type(values) for is_type in (types.is_string, types.is_large_string, types.is_string_view, types.is_null)
    )


def _cut(value: str | None, max_characters: int) -> str | None:
    """Cut a value to one character over the cap, which is enough for the parent to refuse it."""
    return None if value is None else value[: max_characters + 1]


def _shorten(name: str, index: int) -> str:
    # The index keeps two long names apart that begin alike.
    return name if len(name) <= _MAX_NAME_CHARACTERS else f"{name[:_MAX_NAME_CHARACTERS]}…{index}"


if __name__ == "__main__":
    main()
