"""What a worker does at its start."""

import pytest

from app.settings import Settings
from worker.startup import sweep_once


def test_worker_without_schema_names_the_command(empty_database: Settings) -> None:
    with pytest.raises(SystemExit, match="run `lens migrate`"):
        sweep_once(empty_database)


def test_worker_starts_on_a_migrated_database(settings: Settings) -> None:
    sweep_once(settings)


def test_worker_starts_during_outage_of_postgres(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    away = "postgresql+psycopg://lens@/lens?host=/nonexistent"
    sweep_once(settings.model_copy(update={"database_url": away}))
    assert "Postgres does not answer; the API will sweep later" in caplog.text
