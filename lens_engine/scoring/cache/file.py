"""Blocks of log-probabilities on disk, bounded, for later selections. No torch here.

A block is what one call of `LabelScorer.score` gave. Keys are hashes and values are numbers: no text
is stored. The file may be deleted at any time, and whatever is wrong with it costs time only: it is
reported once, as a warning, and the run computes what it cannot read.
"""

import hashlib
import logging
import os
import sqlite3
import struct
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import numpy as np

from lens_engine.scoring.cache.table import BUSY, PAGE_BYTES, BlockTable, primary_code
from lens_engine.types import LabelLogProbs

SMALLEST_MAX_BYTES = 1 << 16

_LARGEST_SHARE = 8  # a block above this part of the bound would push out too many others
_SHAPE = struct.Struct("<3I")
_DIGEST_BYTES = 16

_FAILURES = (sqlite3.Error, OSError, UnicodeDecodeError)  # the last where SQLite's message quotes damaged bytes
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}  # ERROR: tables of another kind
_UNWRITABLE = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY}

_log = logging.getLogger(__name__)

T = TypeVar("T")


class PairCache:
    """Blocks by key, in one SQLite file of at most `max_bytes`; the least recently used give way.

    Threads may share one, and processes may open the same file, which must be on a local disk. After a
    fork it is of no use to the child, which opens one of its own.

    Args:
        path: the file; it and its folder are made if they are not there.
        max_bytes: of the file. Its write-ahead log takes a MiB or two beside it.

    Raises:
        ValueError: `max_bytes` is below `SMALLEST_MAX_BYTES`.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        if max_bytes < SMALLEST_MAX_BYTES:
            raise ValueError(f"max_bytes is {max_bytes}; a pair cache needs at least {SMALLEST_MAX_BYTES}")
        self._path = path
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._is_writable = True
        self._file = _file_id(path)
        self._table = self._open()
        weakref.finalize(self, _close, self._table, self._process)

    def find(self, key: bytes) -> LabelLogProbs | None:
        """The block stored under `key`, bit for bit; None if there is none, or not a whole one."""
        value = self._attempt(lambda table: table.read(key))
        block = None if value is None else _decode(key, value)
        if block is not None and self._is_writable:
            self._attempt(lambda table: table.mark_used(key))
        return block

    def keep(self, key: bytes, block: LabelLogProbs) -> None:
        """Store a block `[P, Q, L]`, whole or not at all; one with NaN or an infinity is not stored."""
        value = _encode(key, block)
        is_small = len(value) * _LARGEST_SHARE <= self._max_bytes
        if self._is_writable and is_small and np.isfinite(block).all():
            self._attempt(lambda table: table.write(key, value))

    def close(self) -> None:
        """Let go of the file; from here on nothing is found or kept."""
        with self._lock:
            self._drop_table()

    def _attempt(self, operation: Callable[[BlockTable], T]) -> T | None:
        """Its outcome; None when it failed or the cache is closed."""
        if self._process != os.getpid():  # SQLite must not be used across a fork
            return None
        with self._lock:
            if self._table is None:
                return None
            try:
                return operation(self._table)
            except _FAILURES as error:
                self._survive(error)
                return None

    def _survive(self, error: Exception) -> None:
        code = primary_code(error)
        if code in BUSY:  # another process writes for long; the next call may find it done
            return
        if code in _UNWRITABLE:
            self._is_writable = False
            _log.warning("nothing more is added to the pair cache %s: %s", self._path, error)
            return
        self._drop_table()
        if _is_damage(error):
            self._set_aside()
        _log.warning("the pair cache %s is no longer used in this run: %s", self._path, error)

    def _open(self) -> BlockTable | None:
        try:
            return self._connect()
        except _FAILURES as error:
            is_new = _is_damage(error) and self._set_aside()
            _log.warning("the pair cache %s %s: %s", self._path, "begins anew" if is_new else "is not used", error)
        if not is_new:
            return None
        try:
            return self._connect()
        except _FAILURES:
            return None

    def _connect(self) -> BlockTable:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = _file_id(self._path)
        table = BlockTable(self._path, self._max_bytes // PAGE_BYTES)
        self._file = _file_id(self._path)
        return table

    def _set_aside(self) -> bool:
        """Rename the damaged file, unless another process has done so and begun a new one."""
        if self._file != _file_id(self._path):
            return True
        try:
            os.replace(self._path, self._path.with_name(self._path.name + ".damaged"))
            for suffix in ("-wal", "-shm"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        except OSError:
            return False
        return True

    def _drop_table(self) -> None:
        _close(self._table, self._process)
        self._table = None


def _close(table: BlockTable | None, process: int) -> None:
    if table is not None and process == os.getpid():
        with suppress(*_FAILURES):
            table.close()


def _is_damage(error: Exception) -> bool:
    return isinstance(error, UnicodeDecodeError) or primary_code(error) in _DAMAGED


def _file_id(path: Path) -> tuple[int, int] | None:
    """Tells a file from another that took its name; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _encode(key: bytes, block: LabelLogProbs) -> bytes:
    body = _SHAPE.pack(*block.shape) + block.astype("<f4").tobytes()
    return _digest(key, body) + body


def _decode(key: bytes, value: bytes) -> LabelLogProbs | None:
    """The block; None where the value is torn, changed, or another key's."""
    digest, body = value[:_DIGEST_BYTES], value[_DIGEST_BYTES:]
    if digest != _digest(key, body):
        return None
    shape = _SHAPE.unpack_from(body)
    return np.frombuffer(body, "<f4", offset=_SHAPE.size).reshape(shape).astype(np.float32)


def _digest(key: bytes, body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST_BYTES, key=key[: hashlib.blake2b.MAX_KEY_SIZE]).digest()
