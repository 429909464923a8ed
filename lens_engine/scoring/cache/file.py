"""Blocks of log-probabilities on disk, in a file of bounded size, for later selections. Does not import torch.

A block holds the scores of one call of a scorer. Keys are hashes and values are numbers: no text is stored.
The file may be deleted at any time. A fault of the file costs only time: it is logged once, as a warning, and the run
computes the blocks that it cannot read.
"""

import hashlib
import logging
import sqlite3
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np

from lens_engine.types import LabelLogProbs

_PAGE_BYTES = 4096
_LARGEST_SHARE = 8  # a block larger than max_bytes / 8 is not stored: it would push out too many others
_PATIENCE_SECONDS = 2.0
_SETUP = (
    f"PRAGMA page_size = {_PAGE_BYTES}",
    "PRAGMA synchronous = OFF",  # a killed process harms nothing; a crash of the machine may, and is noticed
    "CREATE TABLE IF NOT EXISTS blocks (number INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, value BLOB NOT NULL)",
)
_WRITE = "INSERT OR REPLACE INTO blocks (key, value) VALUES (?, ?)"
_DELETE_OLDEST = "DELETE FROM blocks WHERE number <= (SELECT (15 * min(number) + max(number)) / 16 FROM blocks)"

_SHAPE = struct.Struct("<3I")
_DIGEST_BYTES = 16
_KEYS_AT_A_TIME = 500  # SQLite takes some 30,000 values in a statement, and older ones 999
_FAILURES = (sqlite3.Error, OSError, UnicodeDecodeError)  # UnicodeDecodeError: SQLite's message quotes damaged bytes
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}  # ERROR: another table schema

_log = logging.getLogger(__name__)


class PairCache:
    """Blocks by key, in one SQLite file; the oldest blocks give way to new ones.

    Each call opens the file and closes it again. So threads and forks may share a cache, and processes may share the
    file, which must be on a local disk.

    Args:
        path: the file; the file and its folder are made if they do not exist.
        max_bytes: size (bytes) beyond which the file does not grow. A file that is larger already keeps its size.
        patience_seconds: longest wait for another process or thread that is writing. After it, a block is neither found
            nor kept.
    """

    def __init__(self, path: Path, max_bytes: int, patience_seconds: float = _PATIENCE_SECONDS) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._patience_seconds = patience_seconds
        self._is_usable = True

    def find(self, key: bytes) -> LabelLogProbs | None:
        """The block stored under `key`, bit for bit; None if there is none or it is damaged."""
        return self.find_all([key]).get(key)

    def find_all(self, keys: Sequence[bytes]) -> dict[bytes, LabelLogProbs]:
        """As `find`, for many keys; those without a block are left out."""

        def read(connection: sqlite3.Connection) -> list[list[tuple[bytes, Any]]]:
            return [
                connection.execute(
                    f"SELECT key, value FROM blocks WHERE key IN ({','.join('?' * len(part))})", part
                ).fetchall()
                for part in (keys[start : start + _KEYS_AT_A_TIME] for start in range(0, len(keys), _KEYS_AT_A_TIME))
            ]

        rows = [row for part in self._attempt(read) or [] for row in part]
        found = ((key, _decode(key, value)) for key, value in rows)
        return {key: block for key, block in found if block is not None}

    def keep(self, key: bytes, block: LabelLogProbs) -> None:
        """Store a block `[P, Q, L]` atomically. A block with NaN or an infinity is not stored."""
        self.keep_all({key: block})

    def keep_all(self, blocks: Mapping[bytes, LabelLogProbs]) -> None:
        """As `keep`, for many blocks at once."""
        values = {key: _encode(key, block) for key, block in blocks.items() if np.isfinite(block).all()}
        fitting = {key: value for key, value in values.items() if len(value) * _LARGEST_SHARE <= self._max_bytes}
        if fitting:
            self._attempt(lambda connection: _write(connection, fitting))

    def _attempt(self, operation: Callable[[sqlite3.Connection], Any]) -> Any:
        """The outcome of `operation`; None if it failed. After a failure, the file is not used in this run."""
        if not self._is_usable:
            return None
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            patience = self._patience_seconds
            with closing(sqlite3.connect(self._path, timeout=patience, isolation_level=None)) as connection:
                connection.text_factory = bytes  # otherwise a value that damage turned into text would raise
                for statement in (*_SETUP, f"PRAGMA max_page_count = {self._max_bytes // _PAGE_BYTES}"):
                    connection.execute(statement).fetchall()
                return operation(connection)
        except _FAILURES as error:
            if _code(error) == sqlite3.SQLITE_BUSY:  # another process is writing; a later call may succeed
                return None
            self._is_usable = False
            _log.warning("the pair cache %s is not used in this run: %s", self._path, error)
            if isinstance(error, UnicodeDecodeError) or _code(error) in _DAMAGED:
                with suppress(OSError):  # the next run makes a new file
                    self._path.unlink(missing_ok=True)
                    self._path.with_name(self._path.name + "-journal").unlink(missing_ok=True)
            return None


def _write(connection: sqlite3.Connection, values: Mapping[bytes, bytes]) -> None:
    try:
        _write_together(connection, values)
    except sqlite3.OperationalError as error:
        if _code(error) != sqlite3.SQLITE_FULL:
            raise
        connection.execute(_DELETE_OLDEST)
        _write_together(connection, values)


def _write_together(connection: sqlite3.Connection, values: Mapping[bytes, bytes]) -> None:
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(_WRITE, values.items())


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
