"""Transactions that are repeated during an outage of Postgres."""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.orm import Session

from app.database import POSTGRES_AWAY, Database

_FIRST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 5.0

_log = logging.getLogger(__name__)

T = TypeVar("T")


def commit_with_patience(database: Database, write: Callable[[Session], T], patience_seconds: float) -> T:
    """Run `write` in its own transaction and repeat it while Postgres does not answer.

    A commit may succeed although its confirmation is lost. `write` must therefore be fenced, so that
    the repetition changes nothing.

    Raises:
        OperationalError, InterfaceError, TimeoutError: Postgres did not answer for `patience_seconds`.
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
            _log.warning("Postgres does not answer; next attempt in %.1f s (%s)", pause, type(error).__name__)
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
