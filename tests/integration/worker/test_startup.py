import pytest

from app.settings import Settings
from app.store.schema import own_revisions, upgrade_schema
from tests.integration.conftest import write_revision
from worker.__main__ import check_schema


def test_worker_without_schema_names_the_command(empty_database: Settings) -> None:
    with pytest.raises(
        SystemExit, match=f"is at revision none, and this release needs {own_revisions()[-1]}; run `lens migrate`"
    ):
        check_schema(empty_database)


def test_worker_starts_on_a_newer_schema(empty_database: Settings, caplog: pytest.LogCaptureFixture) -> None:
    upgrade_schema(empty_database)
    write_revision(empty_database, "9999")

    check_schema(empty_database)

    assert "Postgres does not answer" not in caplog.text


def test_worker_starts_during_outage_of_postgres(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    away = "postgresql+psycopg://lens@/lens?host=/nonexistent"
    check_schema(settings.model_copy(update={"database_url": away}))
    assert "Postgres does not answer; the worker waits for it" in caplog.text
