"""Cuts connections on which Postgres does not answer.

The time limit of statements is the server's own. A server that is frozen (a paused machine, a stalled disk) keeps none,
its kernel goes on acknowledging, and a thread would wait for ever. A cut connection is an outage to its thread.
"""

import logging
import socket
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from psycopg.pq import TransactionStatus
from sqlalchemy import Engine, event

_LOOK_SECONDS = 0.5
_log = logging.getLogger(__name__)


class StuckConnections:
    """Looks at every connection of an engine, and cuts one on which a command takes longer than `limit_seconds`."""

    def __init__(self, engine: Engine, limit_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit_seconds
        self._clock = clock
        self._active_since = weakref.WeakKeyDictionary[Any, float | None]()
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        event.listen(engine, "connect", self._watch, insert=True)  # before the dialect asks its first questions
        event.listen(engine, "before_cursor_execute", self._begin)
        event.listen(engine, "commit", self._begin)

    def close(self) -> None:
        self._stopping.set()

    def _watch(self, connection: Any, _record: Any) -> None:
        with self._lock:
            self._active_since[connection] = None
            if self._thread is None:  # with the first connection, so after any fork
                self._thread = threading.Thread(target=self._look_until_stopped, name="lens-stuck", daemon=True)
                self._thread.start()

    def _begin(self, connection: Any, *_: Any) -> None:
        """Each statement has the whole limit, however many follow one another."""
        self._active_since[connection.connection.driver_connection] = None

    def _look_until_stopped(self) -> None:
        while not self._stopping.wait(_LOOK_SECONDS):
            try:
                self._look_at_all()
            except Exception as error:  # noqa: BLE001 - a thread that ends would never come again
                _log.warning("the look at the connections failed (%s)", type(error).__name__)

    def _look_at_all(self) -> None:
        with self._lock:
            found = list(self._active_since)
        for connection in found:
            self._look(connection)

    def _look(self, connection: Any) -> None:
        if connection.closed or connection.pgconn.transaction_status != TransactionStatus.ACTIVE:
            self._active_since[connection] = None
            return
        since = self._active_since.get(connection)
        if since is None:
            self._active_since[connection] = self._clock()
        elif self._clock() - since > self._limit:
            _log.error("Postgres has not answered for %.0f s; its connection is cut", self._clock() - since)
            self._active_since[connection] = None
            _cut(connection)


def _cut(connection: Any) -> None:
    """End both directions, which wakes the thread that waits. The descriptor stays the connection's own."""
    try:
        duplicate = socket.fromfd(connection.pgconn.socket, socket.AF_UNIX, socket.SOCK_STREAM)
        with duplicate:
            duplicate.shutdown(socket.SHUT_RDWR)
    except Exception as error:  # noqa: BLE001 - it may have ended meanwhile, and the look must go on
        _log.warning("a connection could not be cut (%s)", type(error).__name__)
