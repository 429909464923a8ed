"""What a worker does at its start."""

from pathlib import Path

import pytest

from app.database import create_database
from app.schema import own_revisions, upgrade_schema
from app.settings import Settings
from tests.e2e.processes import Worker
from tests.e2e.stack import environment_of
from tests.e2e.waiting import until
from tests.integration.conftest import Selections, run_sql
from worker.startup import sweep_once


def test_worker_without_schema_names_the_command(empty_database: Settings) -> None:
    with pytest.raises(
        SystemExit, match=f"is at revision none, and this release needs {own_revisions().head}; run `lens migrate`"
    ):
        sweep_once(empty_database)


def test_worker_starts_on_the_schema_of_a_newer_release(
    empty_database: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    upgrade_schema(empty_database)
    database = create_database(empty_database, pool_size=1)
    run_sql(database, "UPDATE alembic_version SET version_num = '9999'")
    database.dispose()

    sweep_once(empty_database)

    assert "Postgres does not answer" not in caplog.text


def test_worker_starts_during_outage_of_postgres(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    away = "postgresql+psycopg://lens@/lens?host=/nonexistent"
    sweep_once(settings.model_copy(update={"database_url": away}))
    assert "Postgres does not answer; the API will sweep later" in caplog.text


def test_started_worker_takes_over_the_selection_of_a_dead_one(
    selections: Selections, settings: Settings, tmp_path: Path
) -> None:
    dead = selections.running(lease_seconds=0)
    environment = environment_of(
        {
            "database_url": settings.database_url,
            "redis_url": settings.redis_url,
            "queue_name": settings.queue_name,
            "allow_testing_models": True,
            "allowed_models": {"table": "testing:lens_engine.testing:TableScorer"},
            "default_model": "table",
            "device": "cpu",
            "lease_seconds": 1,  # right after a start of Postgres, leases are spared for as long
            "lease_renew_seconds": 0.5,
            "retry_backoff_seconds": 0,
        }
    )
    worker = Worker("worker", ["-m", "worker"], environment, tmp_path / "worker.log")  # and no API that sweeps
    try:
        until(lambda: selections.status_of(dead.selection_id) != "running", "the worker takes the selection over")
    finally:
        worker.stop()
