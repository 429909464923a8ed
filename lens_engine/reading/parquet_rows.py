"""Rows of a Parquet file, read by a child process that may crash, hang or ask for too much memory."""

import json
import math
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import IO, Never

from lens_engine.errors import InvalidDataset
from lens_engine.reading.columns import MAX_COLUMNS, find_columns
from lens_engine.reading.errors import DatasetTooLarge
from lens_engine.reading.limits import ParsingLimits
from lens_engine.reading.row_sink import RowSink
from lens_engine.reading.text_checks import show_name

_CHILD = Path(__file__).with_name("parquet_child.py")
# No other variables: a process that reads untrusted bytes must not see passwords.
_INHERITED = ("LD_LIBRARY_PATH", "PATH", "PYTHONPATH")
_SET = {"ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


_NOT_UTF8 = "holds bytes that are not UTF-8; write texts and labels as UTF-8 strings"


class _UnreadableError(Exception):
    """The child crashed, or its output does not follow the protocol."""


@dataclass(frozen=True, slots=True)
class _Child:
    output: IO[bytes]
    is_late: threading.Event  #: set when the deadline passed and the child was killed


def read_parquet_rows(file: BufferedReader, rows: RowSink) -> None:
    """Give the sink every row of `file`.

    Raises:
        InvalidDataset: the child could not read the file.
    """
    with _start_child(file, rows) as child:
        messages = _read_messages(child.output, rows.limits.max_row_characters)
        try:
            _check_header(next(messages), rows)
            _add_rows(messages, rows)
        except (_UnreadableError, StopIteration):
            _refuse_file(rows, is_late=child.is_late.is_set())


@contextmanager
def _start_child(file: BufferedReader, rows: RowSink) -> Iterator[_Child]:
    """A context with a child that reads `file`. At its end the child is killed and waited for."""
    environment = {name: os.environ[name] for name in _INHERITED if name in os.environ} | _SET
    arguments = (json.dumps(_caps(rows.limits)), json.dumps([rows.columns.text, rows.columns.label]))
    command = [sys.executable, "-B", "-P", "-s", str(_CHILD), *arguments]
    with subprocess.Popen(
        command, stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        is_late = threading.Event()
        timer = threading.Timer(rows.limits.parquet_seconds, _kill_late, (process, is_late))
        timer.daemon = True
        timer.start()
        try:
            assert process.stdout is not None
            yield _Child(process.stdout, is_late)
        finally:
            timer.cancel()
            process.kill()


def _kill_late(process: subprocess.Popen[bytes], is_late: threading.Event) -> None:
    is_late.set()
    process.kill()


def _caps(limits: ParsingLimits) -> dict[str, int]:
    return {
        "bytes": limits.max_bytes,
        "columns": MAX_COLUMNS,
        "label_characters": limits.max_label_characters,
        "memory_bytes": limits.parquet_memory_bytes,
        "rows": limits.max_rows,
        "seconds": math.ceil(limits.parquet_seconds),
        "text_characters": limits.max_text_characters,
    }


def _read_messages(output: IO[bytes], max_bytes: int) -> Iterator[object]:
    while line := output.readline(max_bytes):
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            raise _UnreadableError from None


def _check_header(header: object, rows: RowSink) -> None:
    match header:
        case {"columns": [*names], "num_rows": int(num_rows)}:
            rows.skip_columns(find_columns([str(name) for name in names], rows.columns, rows.field).unused)
            if num_rows > rows.limits.max_rows:
                raise DatasetTooLarge(
                    f"the dataset has {num_rows:,} rows, more than {rows.limits.max_rows:,}; send a sample of it",
                    field=rows.field,
                )
        case _:
            _refuse(header, rows)


def _add_rows(messages: Iterator[object], rows: RowSink) -> None:
    for message in messages:
        match message:
            case [str() | None as text, str() | None as label]:
                rows.add(text, label)
            case {"failure": "encoding"} if rows.keeps_bad_rows:
                rows.note(rows.columns.text, _NOT_UTF8)
            case {"num_rows": rows.next_row}:
                return
            case _:
                _refuse(message, rows)
    raise _UnreadableError


def _refuse(message: object, rows: RowSink) -> Never:
    match message:
        case {"failure": "type", "column": str(column), "type": str(arrow_type)} if column in rows.columns.names:
            wanted = "string" if column == rows.columns.text else "string or integer"
            raise InvalidDataset(
                f"the column `{column}` has the type {show_name(arrow_type)}; write it as {wanted}",
                field=f"{rows.field}.{column}",
            )
        case {"failure": "encoding"}:
            rows.stop(_NOT_UTF8)
        case {"failure": "bytes"}:
            raise DatasetTooLarge(
                f"the texts take more than {rows.limits.max_bytes:,} bytes; send a sample of them", field=rows.field
            )
        case {"failure": "memory"}:
            raise InvalidDataset(
                f"the Parquet file needs more than {rows.limits.parquet_memory_bytes:,} bytes of memory to read; "
                "write it with smaller row groups, or as JSONL",
                field=rows.field,
            )
    raise _UnreadableError


def _refuse_file(rows: RowSink, *, is_late: bool) -> Never:
    reason = f"took longer than {rows.limits.parquet_seconds:g} seconds to read" if is_late else "is damaged"
    raise InvalidDataset(
        f"the Parquet file {reason}, or uses a feature that is not supported; write it again, or as JSONL",
        field=rows.field,
    ) from None
