"""Writes to a Postgres that may be away for a while."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy.orm import Session

from app.logs import find_sqlstate
from app.settings import Settings
from app.store.database import POSTGRES_AWAY, Database, create_database, is_away

_FIRST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 5.0
_NEVER = "54"  # class of SQLSTATE: a statement exceeds a limit of the program, and will again

_log = logging.getLogger(__name__)

T = TypeVar("T")


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
