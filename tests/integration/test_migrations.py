"""The migrations: they make the schema of the models, from nothing and many at once."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

import migrations
from app.settings import Settings
from app.store.database import Database, create_database
from app.store.schema import alembic_config, current_revision, find_losses, move_schema, own_revisions, upgrade_schema
from lens_cli.application import main
from lens_engine.types import Phase
from tests.integration.conftest import Selections, run_sql

_ROOT = Path(__file__).parents[2]

_NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table("notes", sa.Column("id", sa.Integer(), primary_key=True))
    op.add_column("jobs", sa.Column("colour", sa.String(20)))


def downgrade() -> None:
    op.drop_column("jobs", "colour")
    op.drop_table("notes")
"""
"""A migration of a release to come: a table, and a column of an older one."""

Migrate = Callable[..., tuple[int, str]]


@pytest.fixture
def next_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Migrations of a release to come in place of those of this one."""
    own = Path(migrations.__file__).parent
    folder = shutil.copytree(own, tmp_path / "migrations", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / "0002_note_colours.py").write_text(_NEXT)
    with monkeypatch.context() as patches:
        patches.setattr(migrations, "__file__", str(folder / "__init__.py"))
        own_revisions.cache_clear()
        yield
    own_revisions.cache_clear()


@pytest.fixture
def migrate(empty_database: Settings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Migrate:
    """`lens migrate` on an empty database: the exit code, and what it wrote to stderr."""
    monkeypatch.setenv("LENS_DATABASE_URL", empty_database.database_url)

    def run(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["lens", "migrate", *words])
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
    database = create_database(empty_database, pool_size=1)
    run_sql(database, "UPDATE alembic_version SET version_num = '9999'")
    database.dispose()
    for words in ((), ("--to", "0001")):
        code, errors = migrate(*words)
        assert (code, "this release does not know revision 9999; it knows 0001" in errors) == (2, True), errors
    assert revision_of(empty_database) == "9999"


@pytest.mark.usefixtures("next_release")
def test_schema_goes_back_to_an_older_revision_and_forward_again(empty_database: Settings) -> None:
    upgrade_schema(empty_database)
    database = create_database(empty_database, pool_size=1)
    for revision, expected in (("0001", 0), ("0002", 1)):
        move_schema(empty_database, revision)
        assert run_sql(database, "SELECT count(*) FROM pg_tables WHERE tablename = 'notes'") == expected
    database.dispose()
    with pytest.raises(ValueError, match="does not know revision 9999; it knows 0001, 0002"):
        move_schema(empty_database, "9999")


@pytest.mark.usefixtures("next_release")
def test_command_deletes_nothing_without_a_yes(empty_database: Settings, migrate: Migrate) -> None:
    upgrade_schema(empty_database)
    database = create_database(empty_database, pool_size=1)
    run_sql(database, "INSERT INTO notes VALUES (1), (2)")
    code, errors = migrate("--to", "0001")
    assert (code, "no place for 2 rows of notes" in errors, "--yes" in errors) == (2, True, True)
    assert run_sql(database, "SELECT count(*) FROM notes") == 2
    database.dispose()
    assert migrate("--to", "0001", "--yes")[0] == 0
    assert migrate("--to", "0002")[0] == 0
    assert migrate("--to", "0001")[0] == 0, "nothing goes"
    assert revision_of(empty_database) == "0001"


@pytest.mark.usefixtures("next_release")
def test_values_of_a_column_that_goes_are_counted(empty_database: Settings) -> None:
    upgrade_schema(empty_database)
    database = create_database(empty_database, pool_size=1)
    for statement in (
        "INSERT INTO datasets (id, owner_id, sha256, format, num_rows, label_counts, warnings) "
        "VALUES ('ds_1', 'ada', 'x', 'csv', 1, '{}', '[]')",
        "INSERT INTO jobs (id, owner_id, dataset_id, spec, colour) "
        "VALUES ('sel_1', 'ada', 'ds_1', '{}', 'red'), ('sel_2', 'ada', 'ds_1', '{}', NULL)",
    ):
        run_sql(database, statement)
    database.dispose()
    assert find_losses(empty_database, "0001") == {"jobs.colour": 1}
    assert revision_of(empty_database) == "0002"


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
        "status = 'done'",
        "status = 'running'",
        "status = 'failed'",
        "lease_until = now()",
        "phase = 'thinking'",
        "stop_reason = 'bored'",
        "error = '{}'",
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
