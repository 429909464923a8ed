"""The sweep loop of the API process survives errors."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from app.main import sweep_until
from app.settings import Settings
from app.store.database import Database
from app.store.queue import JobQueue
from app.store.services import Services

SETTINGS = Settings(_env_file=None, sweep_interval_seconds=0.001)


class BrokenDatabase:
    """Raises `error` in every call and stops the sweep loop at the third call."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.stopping = asyncio.Event()
        self.calls = 0

    @contextmanager
    def session_scope(self) -> Iterator[Session]:
        self.calls += 1
        if self.calls == 3:
            self.stopping.set()
        raise self.error
        yield


@pytest.mark.parametrize(
    ("error", "log"),
    [
        (OperationalError("SELECT 1", None, Exception()), "the next sweep tries again (OperationalError)"),
        (OverflowError("date value out of range"), "OverflowError: date value out of range"),
    ],
    ids=["database", "bug"],
)
def test_failed_sweep_is_logged_and_repeated(error: Exception, log: str, caplog: pytest.LogCaptureFixture) -> None:
    database = BrokenDatabase(error)
    services = Services(SETTINGS, cast(Database, database), cast(JobQueue, cast(Any, None)))

    asyncio.run(asyncio.wait_for(sweep_until(database.stopping, services), 20))

    assert database.calls == 3
    assert log in caplog.text
