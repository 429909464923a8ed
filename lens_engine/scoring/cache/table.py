"""The SQL of the pair cache: values by key in a file of bounded size; the least recently used are evicted."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PAGE_BYTES = 4096

BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
"""Primary result codes for a file that another connection is writing to."""

_BUSY_SECONDS = 2.0
_OPENING_TRIES = 40  # SQLite does not wait if two connections make the same file, so this module retries
_WAL_PAGES = 256  # pages of the write-ahead log before it is written back to the file
_OVERHEAD_PAGES = 8  # an insert may take these beside its value: parents of three trees, and the page map

_SETUP = (
    f"PRAGMA page_size = {PAGE_BYTES}",
    "PRAGMA auto_vacuum = INCREMENTAL",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",  # a crash of the machine may lose the newest entries, but not the file
    f"PRAGMA wal_autocheckpoint = {_WAL_PAGES}",
    f"PRAGMA journal_size_limit = {_WAL_PAGES * PAGE_BYTES}",
    "CREATE TABLE IF NOT EXISTS blocks (key BLOB PRIMARY KEY, value BLOB NOT NULL, used INTEGER NOT NULL)",
    "CREATE INDEX IF NOT EXISTS blocks_by_use ON blocks (used)",
    "SELECT key, value, used FROM blocks LIMIT 0",  # fails if the table has other columns
)
_NEXT_USE = "(SELECT coalesce(max(used), 0) + 1 FROM blocks)"
_DELETE_OLDEST = "DELETE FROM blocks WHERE rowid IN (SELECT rowid FROM blocks ORDER BY used, rowid LIMIT ?)"


def primary_code(error: Exception) -> int:
    """SQLite's primary result code; 0 if the error is not SQLite's."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


class BlockTable:
    """One connection to the file, for one thread at a time.

    Freed pages are used again, so the file never has more than `max_pages` pages. A larger file, written with a
    larger bound, is shortened when it is opened.

    Raises:
        sqlite3.Error: from every method.
    """

    def __init__(self, path: Path, max_pages: int) -> None:
        self._max_pages = max_pages
        self._connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        self._connection.text_factory = bytes  # otherwise a value that damage turned into text would raise
        try:
            self._set_up()
        except BaseException:
            self._connection.close()
            raise

    def read(self, key: bytes) -> bytes | None:
        row = self._connection.execute("SELECT value FROM blocks WHERE key = ?", (key,)).fetchone()
        return row[0] if row is not None and isinstance(row[0], bytes) else None

    def mark_used(self, key: bytes) -> None:
        self._connection.execute(f"UPDATE blocks SET used = {_NEXT_USE} WHERE key = ?", (key,))

    def write(self, key: bytes, value: bytes) -> None:
        """Insert or replace a value, and evict in the same transaction."""
        needed = len(value) // PAGE_BYTES + _OVERHEAD_PAGES
        with self._transaction():
            self._free_pages(self._max_pages - needed)
            self._connection.execute(f"INSERT OR REPLACE INTO blocks VALUES (?, ?, {_NEXT_USE})", (key, value))

    def close(self) -> None:
        self._connection.close()

    def _set_up(self) -> None:
        for tries_left in reversed(range(_OPENING_TRIES)):
            try:
                for statement in _SETUP:
                    self._connection.execute(statement).fetchall()
                break
            except sqlite3.OperationalError as error:
                if primary_code(error) not in BUSY or not tries_left:
                    raise
                time.sleep(0.05)
        if self._pragma("page_count") > self._max_pages:
            self._shrink()

    def _shrink(self) -> None:
        with self._transaction():
            (count,) = self._connection.execute("SELECT count(*) FROM blocks").fetchone()
            self._free_pages(self._max_pages - _OVERHEAD_PAGES, at_once=max(1, count // 16))
        self._connection.executescript("PRAGMA incremental_vacuum")  # execute() would free one page only
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _free_pages(self, most: int, at_once: int = 1) -> None:
        """Delete the least recently used values until at most `most` pages are in use."""
        while self._pragma("page_count") - self._pragma("freelist_count") > most:
            if not self._connection.execute(_DELETE_OLDEST, (at_once,)).rowcount:
                return

    def _pragma(self, name: str) -> int:
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._connection.in_transaction:  # after a full disk, SQLite has already rolled back
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
