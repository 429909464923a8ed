"""The migrations: they make the schema of the models, from nothing and many at once."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from app.settings import Settings
from app.store.database import Database, create_database
from app.store.schema import alembic_config, current_revision, own_revisions, upgrade_schema
from lens_cli.application import main
from lens_engine.types import Phase
from tests.integration.conftest import Selections, run_sql, write_revision

_ROOT = Path(__file__).parents[2]

Migrate = Callable[[], tuple[int, str]]


@pytest.fixture
def migrate(empty_database: Settings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Migrate:
    """`lens migrate` on an empty database: the exit code, and what it wrote to stderr."""
    monkeypatch.setenv("LENS_DATABASE_URL", empty_database.database_url)

    def run() -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["lens", "migrate"])
        with pytest.raises(SystemExit) as end:
            main()
        return int(end.value.code or 0), capfd.readouterr().err

    return run


def revision_of(settings: Settings) -> str | None:
    database = create_database(settings, pool_size=1)
    try:
        with database.session_scope() as session:
            return current_revision(session.connection())
    finally:
        database.dispose()


def test_models_and_migrations_agree(empty_database: Settings) -> None:
    assert revision_of(empty_database) is None
    upgrade_schema(empty_database)
    assert revision_of(empty_database) == own_revisions()[-1]
    command.check(alembic_config(empty_database))


def test_schema_of_a_newer_release_is_refused(empty_database: Settings, migrate: Migrate) -> None:
    assert migrate()[0] == 0
    write_revision(empty_database, "9999")
    code, errors = migrate()
    assert (code, "this release does not know revision 9999; it knows 0001" in errors) == (2, True), errors
    assert revision_of(empty_database) == "9999"


def test_several_upgrades_at_once_all_succeed(empty_database: Settings) -> None:
    script = (
        "from app.store.schema import upgrade_schema; from app.settings import Settings; upgrade_schema(Settings())"
    )
    environment = {**os.environ, "LENS_DATABASE_URL": empty_database.database_url}
    started = [subprocess.Popen([sys.executable, "-c", script], env=environment, cwd=_ROOT) for _ in range(3)]
    assert [process.wait(60) for process in started] == [0, 0, 0]
    assert revision_of(empty_database) == own_revisions()[-1]


@pytest.mark.parametrize(
    "change",
    [
        *("status = 'done'", "status = 'running'", "status = 'failed'", "lease_until = now()"),
        *("phase = 'thinking'", "stop_reason = 'bored'", "error = '{}'"),
    ],
)
def test_database_refuses_a_state_that_makes_no_sense(selections: Selections, database: Database, change: str) -> None:
    selections.queued()
    with pytest.raises(IntegrityError, match="ck_jobs"), database.session_scope() as session:
        session.execute(text(f"UPDATE jobs SET {change}"))


@pytest.mark.parametrize("phase", Phase)
def test_database_knows_every_phase(selections: Selections, database: Database, phase: Phase) -> None:
    selections.queued()
    run_sql(database, f"UPDATE jobs SET phase = '{phase}'")
