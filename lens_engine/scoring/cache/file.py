"""Blocks of log-probabilities on disk, in a file of bounded size, for later selections. Does not import torch.

A block holds the scores of one call of `LabelScorer.score`. Keys are hashes and values are numbers: no text is stored.
The file may be deleted at any time. A fault of the file costs only time: it is logged once, as a warning, and the run
computes the blocks that it cannot read.
"""

import hashlib
import logging
import os
import sqlite3
import struct
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from lens_engine.types import LabelLogProbs

_PAGE_BYTES = 4096
_LARGEST_SHARE = 8  # a block larger than max_bytes / 8 is not stored: it would push out too many others
_SETUP = (
    f"PRAGMA page_size = {_PAGE_BYTES}",
    "PRAGMA synchronous = OFF",  # a killed process harms nothing; a crash of the machine may, and is noticed
    "CREATE TABLE IF NOT EXISTS blocks (number INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, value BLOB NOT NULL)",
    "SELECT number, key, value FROM blocks LIMIT 1",  # fails if the table has other columns
)
_READ = "SELECT value FROM blocks WHERE key = ?"
_WRITE = "INSERT OR REPLACE INTO blocks (key, value) VALUES (?, ?)"
_DELETE_OLDEST = "DELETE FROM blocks WHERE number <= (SELECT (15 * min(number) + max(number)) / 16 FROM blocks)"

_SHAPE = struct.Struct("<3I")
_DIGEST_BYTES = 16
_FAILURES = (sqlite3.Error, OSError, UnicodeDecodeError)  # UnicodeDecodeError: SQLite's message quotes damaged bytes
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}  # ERROR: another table schema

_log = logging.getLogger(__name__)

T = TypeVar("T")


class PairCache:
    """Blocks by key, in one SQLite file; the oldest blocks give way to new ones.

    Threads may share a cache, and processes may open the same file, which must be on a local disk. After a fork the
    child cannot use its parent's cache; it has to open its own.

    Args:
        path: the file; the file and its folder are made if they do not exist.
        max_bytes: size (bytes) beyond which the file does not grow. A file that is larger already keeps its size.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._inode: int | None = None
        self._connection = self._open(is_first=True)

    def find(self, key: bytes) -> LabelLogProbs | None:
        """The block stored under `key`, bit for bit; None if there is none or it is damaged."""
        row = self._attempt(lambda connection: connection.execute(_READ, (key,)).fetchone())
        return None if row is None else _decode(key, row[0])

    def keep(self, key: bytes, block: LabelLogProbs) -> None:
        """Store a block `[P, Q, L]` atomically. A block with NaN or an infinity is not stored."""
        value = _encode(key, block)
        if len(value) * _LARGEST_SHARE <= self._max_bytes and np.isfinite(block).all():
            self._attempt(lambda connection: _write(connection, key, value))

    def close(self) -> None:
        """Close the file. Afterwards `find` returns None and `keep` stores nothing."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    def _attempt(self, operation: Callable[[sqlite3.Connection], T]) -> T | None:
        """The outcome of `operation`; None if it failed or the cache is closed."""
        if self._process != os.getpid():  # a SQLite connection must not be used after a fork
            return None
        with self._lock:
            if self._connection is None:
                return None
            try:
                return operation(self._connection)
            except _FAILURES as error:
                if _code(error) not in _BUSY:  # another process is writing; a later call may succeed
                    self._connection.close()
                    self._connection = None
                    self._report(error)
                return None

    def _open(self, *, is_first: bool) -> sqlite3.Connection | None:
        """A connection; None where there can be no file. A damaged file is set aside, and a new one is made."""
        connection = None
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, timeout=2.0, isolation_level=None, check_same_thread=False)
            connection.text_factory = bytes  # otherwise a value that damage turned into text would raise
            self._inode = self._path.stat().st_ino
            for statement in (*_SETUP, f"PRAGMA max_page_count = {self._max_bytes // _PAGE_BYTES}"):
                connection.execute(statement).fetchall()
        except _FAILURES as error:
            if connection is not None:
                connection.close()
            is_replaced = self._report(error)
            return self._open(is_first=False) if is_first and is_replaced else None
        weakref.finalize(self, connection.close).atexit = False  # at the exit of a fork it would harm the parent
        return connection

    def _report(self, error: Exception) -> bool:
        """Log that the file is not used, and set a damaged one aside. Returns whether a new one can be made."""
        is_damaged = isinstance(error, UnicodeDecodeError) or _code(error) in _DAMAGED
        consequence = "is damaged and is set aside" if is_damaged else "is not used in this run"
        _log.warning("the pair cache %s %s: %s", self._path, consequence, error)
        return is_damaged and self._set_aside()

    def _set_aside(self) -> bool:
        """Rename the file with its journal, unless another process already did so and made a new one."""
        try:
            if self._path.stat().st_ino == self._inode:
                self._path.with_name(self._path.name + "-journal").unlink(missing_ok=True)
                self._path.replace(self._path.with_name(self._path.name + ".damaged"))
        except OSError:
            return False
        return True


def _write(connection: sqlite3.Connection, key: bytes, value: bytes) -> None:
    try:
        connection.execute(_WRITE, (key, value))
    except sqlite3.OperationalError as error:
        if _code(error) != sqlite3.SQLITE_FULL:
            raise
        connection.execute(_DELETE_OLDEST)
        connection.execute(_WRITE, (key, value))


def _code(error: Exception) -> int:
    """SQLite's primary result code; 0 if the error is not SQLite's."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _encode(key: bytes, block: LabelLogProbs) -> bytes:
    body = _SHAPE.pack(*block.shape) + block.astype("<f4").tobytes()
    return _digest(key, body) + body


def _decode(key: bytes, value: object) -> LabelLogProbs | None:
    """The block in `value`; None if the value is incomplete, changed, or belongs to another key."""
    if not isinstance(value, bytes) or value[:_DIGEST_BYTES] != _digest(key, body := value[_DIGEST_BYTES:]):
        return None
    shape = _SHAPE.unpack_from(body)
    return np.frombuffer(body, "<f4", offset=_SHAPE.size).reshape(shape).astype(np.float32)


def _digest(key: bytes, body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST_BYTES, key=key).digest()
