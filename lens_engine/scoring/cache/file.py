"""Blocks of log-probabilities on disk, in a file of bounded size, for later selections. Does not import torch.

A block holds the scores of one call of `LabelScorer.score`. Keys are hashes and values are numbers: no
text is stored. The file may be deleted at any time. A fault of the file costs only time: it is logged
once, as a warning, and the run computes the blocks that it cannot read.
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

_LARGEST_SHARE = 8  # a block larger than max_bytes / 8 is not stored: it would push out too many others
_SHAPE = struct.Struct("<3I")
_DIGEST_BYTES = 16

_FAILURES = (sqlite3.Error, OSError, UnicodeDecodeError)  # UnicodeDecodeError: SQLite's message quotes damaged bytes
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}  # ERROR: another table schema
_UNWRITABLE = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY}

_log = logging.getLogger(__name__)

T = TypeVar("T")


class PairCache:
    """Blocks by key, in one SQLite file of at most `max_bytes`; the least recently used blocks are evicted.

    Threads may share a cache, and processes may open the same file, which must be on a local disk. After a
    fork the child cannot use its parent's cache; it has to open its own.

    Args:
        path: the file; the file and its folder are made if they do not exist.
        max_bytes: largest size of the file (bytes). The write-ahead log takes one or two MiB more.

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
        """The block stored under `key`, bit for bit; None if there is none or it is damaged."""
        value = self._attempt(lambda table: table.read(key))
        block = None if value is None else _decode(key, value)
        if block is not None and self._is_writable:
            self._attempt(lambda table: table.mark_used(key))
        return block

    def keep(self, key: bytes, block: LabelLogProbs) -> None:
        """Store a block `[P, Q, L]` atomically. A block with NaN or an infinity is not stored."""
        value = _encode(key, block)
        is_small = len(value) * _LARGEST_SHARE <= self._max_bytes
        if self._is_writable and is_small and np.isfinite(block).all():
            self._attempt(lambda table: table.write(key, value))

    def close(self) -> None:
        """Close the file. Afterwards `find` returns None and `keep` stores nothing."""
        with self._lock:
            self._drop_table()

    def _attempt(self, operation: Callable[[BlockTable], T]) -> T | None:
        """The outcome of `operation`; None if it failed or the cache is closed."""
        if self._process != os.getpid():  # a SQLite connection must not be used after a fork
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
        if code in BUSY:  # another process is writing; a later call may succeed
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
        """Rename the damaged file, unless another process already did so and made a new one."""
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
    """Device and inode, which tell a file from another with the same name; None if the file does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _encode(key: bytes, block: LabelLogProbs) -> bytes:
    body = _SHAPE.pack(*block.shape) + block.astype("<f4").tobytes()
    return _digest(key, body) + body


def _decode(key: bytes, value: bytes) -> LabelLogProbs | None:
    """The block in `value`; None if the value is incomplete, changed, or belongs to another key."""
    digest, body = value[:_DIGEST_BYTES], value[_DIGEST_BYTES:]
    if digest != _digest(key, body):
        return None
    shape = _SHAPE.unpack_from(body)
    return np.frombuffer(body, "<f4", offset=_SHAPE.size).reshape(shape).astype(np.float32)


def _digest(key: bytes, body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST_BYTES, key=key[: hashlib.blake2b.MAX_KEY_SIZE]).digest()
