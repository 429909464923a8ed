"""The migrations: they make the schema of the models, from nothing and many at once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from app.settings import Settings
from app.store.database import Database, opened_database
from app.store.schema import alembic_config, current_revision, own_revisions, upgrade_schema
from lens_engine.types import Phase
from tests.e2e.lens_command import run
from tests.integration.conftest import Selections, run_sql, write_revision

_ROOT = Path(__file__).parents[2]


def revision_of(settings: Settings) -> str | None:
    with opened_database(settings) as database, database.session_scope() as session:
        return current_revision(session.connection())


def test_models_and_migrations_agree(empty_database: Settings) -> None:
    assert revision_of(empty_database) is None
    upgrade_schema(empty_database)
    assert revision_of(empty_database) == own_revisions()[-1]
    command.check(alembic_config(empty_database))


def test_schema_of_a_newer_release_is_refused(empty_database: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LENS_DATABASE_URL", empty_database.database_url)
    assert run(["migrate"]).returncode == 0
    write_revision(empty_database, "9999")
    done = run(["migrate"])
    assert done.returncode == 2, done.stderr
    assert "this release does not know revision 9999; it knows 0001" in done.stderr
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
