"""Connections to Postgres, and writes to one that may be away for a while. Only this module commits."""

import logging
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from psycopg.pq import TransactionStatus
from pydantic_core import from_json
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, TimeoutError
from sqlalchemy.orm import Session, sessionmaker

from app.logs import find_sqlstate
from app.settings import Settings

POSTGRES_AWAY = (OperationalError, InterfaceError, TimeoutError)
"""Errors after which a retry can succeed: Postgres is away (`is_away`), or has refused or cut off a statement."""

_OUTAGES = {"25006", "25P03"}
"""SQLSTATE: a server that has become a standby and only reads; a session that was idle in its transaction for too long.
psycopg does not count them among the operational errors."""

_MARGIN_SECONDS = 3.0
"""Time after the limit of a statement in which a living server says that it was cut off."""

_AWAY = ("08", "57P01", "57P02", "57P03", "53300", *_OUTAGES)
"""Beginnings of SQLSTATE: the connection failed; the server stops, crashed, starts, or has no connection left."""

_FIRST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 5.0
_NEVER = "54"  # class of SQLSTATE: a statement exceeds a limit of the program, and will again

_log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Database:
    """An engine and its session factory. Create one per process, after any fork."""

    engine: Engine
    sessions: sessionmaker[Session]
    stuck: "StuckConnections"

    @contextmanager
    def session_scope(self) -> Iterator[Session]:
        """Open one transaction. It commits when the block ends and rolls back when the block raises.

        Keep the block short: no computation, no call to Redis and no other transaction inside. A thread that waits for
        a second connection while it holds one may wait for itself.
        """
        with self.sessions() as session, session.begin():
            yield session

    def dispose(self) -> None:
        self.stuck.close()
        self.engine.dispose()


def is_away(error: Exception) -> bool:
    """Whether no statement would succeed now. A statement that Postgres refused or cut off is no outage."""
    if not isinstance(error, DBAPIError):
        return isinstance(error, TimeoutError)  # no connection of the pool became free
    if error.connection_invalidated:
        return True
    sqlstate = find_sqlstate(error)
    if sqlstate is None:
        return isinstance(error, POSTGRES_AWAY)
    return sqlstate.startswith(_AWAY)


def create_database(settings: Settings, *, pool_size: int | None = None) -> Database:
    """Create the engine, which connects lazily. `pool_size` is for processes with fewer connections than the API."""
    engine = create_engine(
        settings.database_url,
        pool_pre_ping=True,
        pool_size=pool_size or settings.database_pool_size,
        max_overflow=0,
        pool_timeout=5,
        pool_recycle=1800,
        hide_parameters=True,
        connect_args=_connect_args(settings),
        json_deserializer=from_json,  # twice as fast as json.loads
    )
    event.listen(engine, "handle_error", _report_outage)
    stuck = StuckConnections(engine, settings.statement_timeout_seconds + _MARGIN_SECONDS)
    return Database(engine, sessionmaker(engine, expire_on_commit=False), stuck)


@contextmanager
def opened_database(settings: Settings, pool_size: int = 1) -> Iterator[Database]:
    """A database until the block ends: the next fork must not inherit an open connection."""
    database = create_database(settings, pool_size=pool_size)
    try:
        yield database
    finally:
        database.dispose()


def longest_pause(settings: Settings) -> float:
    """Time between two attempts to reach Postgres (seconds). After an outage, the sweep waits for one lease."""
    return min(_LONGEST_PAUSE_SECONDS, settings.lease_renew_seconds)


def commit_with_patience(
    database: Database,
    write: Callable[[Session], T],
    patience_seconds: float,
    longest_pause_seconds: float = _LONGEST_PAUSE_SECONDS,
) -> T:
    """Run `write` in its own transaction and repeat it while Postgres is away or refuses it for a while.

    A commit may succeed although its confirmation is lost. `write` must therefore be fenced, so that
    the repetition changes nothing. Who holds a lease passes `longest_pause`, because nothing renews it meanwhile.
    """
    deadline = time.monotonic() + patience_seconds
    pause = _FIRST_PAUSE_SECONDS
    while True:
        try:
            with database.session_scope() as session:
                return write(session)
        except POSTGRES_AWAY as error:
            if time.monotonic() + pause > deadline or (find_sqlstate(error) or "").startswith(_NEVER):
                raise
            log_postponed(error, f"next attempt in {pause:.1f} s")
        time.sleep(pause)
        pause = min(pause * 2, longest_pause_seconds)


def log_postponed(error: Exception, consequence: str) -> None:
    """Log why a write must be repeated: Postgres is away, or has refused a statement."""
    if is_away(error):
        _log.warning("Postgres does not answer; %s (%s)", consequence, type(error).__name__)
        return
    _log.warning(
        "Postgres refused a statement; %s (%s, SQLSTATE %s)", consequence, type(error).__name__, find_sqlstate(error)
    )


def _report_outage(context: ExceptionContext) -> OperationalError | None:
    """Make an outage of another name an OperationalError, and have the next transaction connect anew."""
    if find_sqlstate(context.original_exception) not in _OUTAGES:
        return None
    context.is_disconnect = True
    return OperationalError(context.statement, None, context.original_exception, connection_invalidated=True)


def _connect_args(settings: Settings) -> dict[str, str | int]:
    """Time limits that turn a dead server into an error within seconds; `StuckConnections` does so for a frozen one."""
    statement_ms = int(settings.statement_timeout_seconds * 1000)
    return {
        "connect_timeout": 3,
        "keepalives": 1,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 20_000,
        "application_name": "lens",
        "options": (
            f"-c statement_timeout={statement_ms} -c idle_in_transaction_session_timeout=30000 -c timezone=UTC"
        ),
    }


_LOOK_SECONDS = 0.5


class StuckConnections:
    """Looks at every connection of an engine, and cuts one on which a command takes longer than `limit_seconds`.

    The time limit of statements is the server's own. A server that is frozen (a paused machine, a stalled disk) keeps
    none, its kernel goes on acknowledging, and a thread would wait for ever. A cut connection is an outage to it.
    """

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
