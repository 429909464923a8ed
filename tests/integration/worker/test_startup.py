"""What a worker says when it cannot begin."""

import pytest

from app.settings import Settings
from worker.startup import sweep_once


def test_worker_before_the_migrations_says_what_to_run(empty_database: Settings) -> None:
    with pytest.raises(SystemExit, match="run `lens migrate`"):
        sweep_once(empty_database)


def test_worker_on_a_migrated_database_begins(settings: Settings) -> None:
    sweep_once(settings)


def test_worker_begins_while_postgres_is_away(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    away = "postgresql+psycopg://lens@/lens?host=/nonexistent"
    sweep_once(settings.model_copy(update={"database_url": away}))
    assert "Postgres does not answer; the API will sweep later" in caplog.text
