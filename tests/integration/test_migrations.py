"""The migrations: up, down, up, no drift, and many at once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import inspect, text
from sqlalchemy.exc import IntegrityError

from app.database import Database, create_database
from app.models import Base
from app.schema import alembic_config, current_revision, downgrade_schema, head_revision, upgrade_schema
from app.settings import Settings
from lens_engine.types import Phase
from tests.integration.conftest import Selections

_ROOT = Path(__file__).parents[2]


def tables_of(settings: Settings) -> set[str]:
    database = create_database(settings, pool_size=1)
    try:
        return set(inspect(database.engine).get_table_names()) - {"alembic_version"}
    finally:
        database.dispose()


def revision_of(settings: Settings) -> str | None:
    database = create_database(settings, pool_size=1)
    try:
        with database.session_scope() as session:
            return current_revision(session.connection())
    finally:
        database.dispose()


def test_up_down_up_ends_where_it_began(empty_database: Settings) -> None:
    assert revision_of(empty_database) is None
    upgrade_schema(empty_database)
    assert tables_of(empty_database) == {table.name for table in Base.metadata.sorted_tables}
    downgrade_schema(empty_database, "base")
    assert tables_of(empty_database) == set()
    upgrade_schema(empty_database)
    assert revision_of(empty_database) == head_revision()


def test_models_and_migrations_agree(empty_database: Settings) -> None:
    upgrade_schema(empty_database)
    command.check(alembic_config(empty_database))


def test_several_upgrades_at_once_all_succeed(empty_database: Settings) -> None:
    script = "from app.schema import upgrade_schema; from app.settings import Settings; upgrade_schema(Settings())"
    environment = {**os.environ, "LENS_DATABASE_URL": empty_database.database_url}
    started = [subprocess.Popen([sys.executable, "-c", script], env=environment, cwd=_ROOT) for _ in range(3)]
    assert [process.wait(60) for process in started] == [0, 0, 0]
    assert revision_of(empty_database) == head_revision()


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
    with pytest.raises(IntegrityError, match="ck_selections"), database.session_scope() as session:
        session.execute(text(f"UPDATE selections SET {change}"))


@pytest.mark.parametrize("phase", Phase)
def test_database_knows_every_phase(selections: Selections, database: Database, phase: Phase) -> None:
    selections.queued()
    with database.session_scope() as session:
        session.execute(text(f"UPDATE selections SET phase = '{phase}'"))


def test_selection_in_a_newer_phase_survives_a_downgrade(empty_database: Settings) -> None:
    upgrade_schema(empty_database)
    database = create_database(empty_database, pool_size=1)
    try:
        with database.session_scope() as session:
            session.execute(
                text(
                    "INSERT INTO datasets (id, owner_id, sha256, format, num_rows, label_counts, warnings) "
                    "VALUES ('ds_1', 'owner', repeat('0', 64), 'inline', 1, '{}', '[]')"
                )
            )
            session.execute(
                text(
                    "INSERT INTO selections (id, owner_id, dataset_id, spec, spec_version, phase) "
                    "VALUES ('sel_1', 'owner', 'ds_1', '{}', 1, 'fine_tune')"
                )
            )
        downgrade_schema(empty_database, "0001")
        with database.session_scope() as session:
            assert session.execute(text("SELECT phase FROM selections")).scalar_one() == "filter"
    finally:
        database.dispose()
