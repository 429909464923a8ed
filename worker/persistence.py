"""Short transactions that outlast an absence of Postgres."""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.exc import InterfaceError, OperationalError, TimeoutError
from sqlalchemy.orm import Session

from app.database import Database

POSTGRES_AWAY = (OperationalError, InterfaceError, TimeoutError)
"""Down, restarting, out of connections or of disk: worth trying again."""

_FIRST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 5.0

_log = logging.getLogger(__name__)

T = TypeVar("T")


def commit_with_patience(database: Database, write: Callable[[Session], T], patience_seconds: float) -> T:
    """Run `write` in a transaction of its own, again and again while Postgres is away.

    A commit whose answer was lost may have happened: `write` must be fenced, so that its repetition
    finds nothing to do.

    Raises:
        OperationalError, InterfaceError, TimeoutError: Postgres stayed away for `patience_seconds`.
    """
    deadline = time.monotonic() + patience_seconds
    pause = _FIRST_PAUSE_SECONDS
    while True:
        try:
            with database.session_scope() as session:
                return write(session)
        except POSTGRES_AWAY as error:
            if time.monotonic() + pause > deadline:
                raise
            _log.warning("Postgres is away; trying again in %.1f s (%s)", pause, type(error).__name__)
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
