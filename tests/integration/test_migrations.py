"""The migrations: up, down, up, no drift, and many at once."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import inspect, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.database import Database, create_database
from app.models import Base
from app.schema import alembic_config, current_revision, downgrade_schema, head_revision, upgrade_schema
from app.selections.spec import SPEC_VERSION, StoredSpec
from app.settings import Settings
from lens_engine.presets import resolve_config
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


def insert_selection(session: Session, *, spec: dict[str, Any], **columns: object) -> None:
    """A selection as a release before stored it: spec version 1."""
    session.execute(
        text(
            "INSERT INTO datasets (id, owner_id, sha256, format, num_rows, label_counts, warnings) "
            "VALUES ('ds_1', 'owner', repeat('0', 64), 'inline', 1, '{}', '[]')"
        )
    )
    names = "".join(f", {name}" for name in columns)
    values = "".join(f", :{name}" for name in columns)
    session.execute(
        text(
            f"INSERT INTO selections (id, owner_id, dataset_id, spec, spec_version{names}) "
            f"VALUES ('sel_1', 'owner', 'ds_1', :spec, 1{values})"
        ),
        {"spec": json.dumps(spec), **columns},
    )


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
            insert_selection(session, spec={}, phase="fine_tune")
        downgrade_schema(empty_database, "0001")
        with database.session_scope() as session:
            assert session.execute(text("SELECT phase FROM selections")).scalar_one() == "filter"
    finally:
        database.dispose()


def test_selection_of_an_older_release_is_readable_after_the_upgrade(empty_database: Settings) -> None:
    upgrade_schema(empty_database, "0002")
    config = resolve_config("quick").model_dump(mode="json")
    config["search"] |= {"elimination": True, "random_substitutions": 0.0, "initial_starts": 64, "shortlist": 16}
    config["budget"] = {"max_forwards": 500, "max_seconds": None}
    task = {"template": "{text} {label}", "verbalizer": [["a", "A"], ["b", "B"]], "separator": "\n"}
    progress = {"phase": "search", "forwards_done": 3, "forwards_total": 9, "message": ""}
    cost = {"forwards": 7, "tokens": 70, "permutations_evaluated": 4, "permutations_eliminated": 1}
    database = create_database(empty_database, pool_size=1)
    try:
        with database.session_scope() as session:
            spec = {**task, "model": "m", "preset": "quick", "config": config}
            insert_selection(session, spec=spec, progress=json.dumps(progress))
            result = {"cost": cost, "provenance": {"config": config}}
            session.execute(
                text("INSERT INTO reports (selection_id, result) VALUES ('sel_1', :result)"),
                {"result": json.dumps(result)},
            )
        upgrade_schema(empty_database)
        with database.session_scope() as session:
            stored, version, seen = session.execute(text("SELECT spec, spec_version, progress FROM selections")).one()
            report = session.execute(text("SELECT result FROM reports")).scalar_one()
        assert (StoredSpec.model_validate(stored).config.budget.max_pairs, version) == (500, SPEC_VERSION)
        assert seen == {"phase": "search", "pairs_done": 3, "pairs_total": 9}
        assert report["cost"] == {"pairs": 7, "tokens": 70, "permutations_judged": 4, "permutations_dropped": 1}
        assert report["provenance"]["config"] == config  # the digest covers it
        downgrade_schema(empty_database, "0002")
        with database.session_scope() as session:
            restored = session.execute(text("SELECT result FROM reports")).scalar_one()
        assert restored == result
    finally:
        database.dispose()
