"""The migrations: they make the schema of the models, from nothing and many at once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import inspect, text
from sqlalchemy.exc import IntegrityError
from starlette.testclient import TestClient

from app.database import Database, create_database
from app.schema import alembic_config, current_revision, find_losses, move_schema, own_revisions, upgrade_schema
from app.settings import Settings
from lens_cli.application import main
from lens_engine.predicting.rows import unpack_probabilities
from lens_engine.types import Phase
from tests.integration.conftest import Selections, run_sql

_ROOT = Path(__file__).parents[2]


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
    assert revision_of(empty_database) == own_revisions().head
    command.check(alembic_config(empty_database))


def test_schema_goes_back_to_an_older_revision_and_forward_again(empty_database: Settings) -> None:
    upgrade_schema(empty_database)
    for revision, expected in (("0001", False), ("0002", True)):
        move_schema(empty_database, revision)
        database = create_database(empty_database, pool_size=1)
        assert ("holder" in {one["name"] for one in inspect(database.engine).get_columns("selections")}) is expected
        database.dispose()
    with pytest.raises(ValueError, match="does not know revision 9999; it knows 0001, 0002"):
        move_schema(empty_database, "9999")


def test_rows_of_predictions_are_packed(empty_database: Settings) -> None:
    move_schema(empty_database, "0007")
    upgraded = create_database(empty_database, pool_size=1)
    spec = '{"columns": ["text", "n"]}'
    statements = (
        "INSERT INTO datasets (id, owner_id, sha256, format, num_rows, label_counts, warnings) "
        "VALUES ('ds_1', 'o', 'x', 'csv', 1, '{}', '[]')",
        "INSERT INTO examples (dataset_id, row, text, cells) VALUES ('ds_1', 0, 'a', '{\"n\": 1, \"text\": \"a\"}')",
        "INSERT INTO selections (id, owner_id, kind, dataset_id, spec, spec_version) "
        f"VALUES ('pr_1', 'o', 'prediction', 'ds_1', '{spec}', 2)",
        "INSERT INTO predictions (job_id, place, probabilities, is_cut) VALUES ('pr_1', 0, '{0.25, 0.75}', false)",
    )
    with upgraded.session_scope() as session:
        for statement in statements:
            session.execute(text(statement.replace(": ", "\\: ")))
    upgrade_schema(empty_database)
    assert run_sql(upgraded, "SELECT cells FROM examples") == '["a", 1]'
    assert unpack_probabilities(run_sql(upgraded, "SELECT probabilities FROM predictions")) == (0.25, 0.75)
    assert run_sql(upgraded, "SELECT reserved_bytes FROM selections") == len(spec) + 200 + 8

    move_schema(empty_database, "0007")
    assert (
        run_sql(upgraded, "SELECT count(*) FROM predictions") == run_sql(upgraded, "SELECT count(*) FROM datasets") == 0
    )
    upgraded.dispose()


def test_move_to_an_older_revision_says_what_it_would_delete(
    client: TestClient, selections: Selections, settings: Settings, database: Database
) -> None:
    selection_id, _ = selections.asked("prediction")
    put = client.put("/prompts/triage", json={"selection_id": selection_id}, headers={"If-None-Match": "*"})
    assert put.status_code == 201
    rows = {table: run_sql(database, f"SELECT count(*) FROM {table}") for table in ("selections", "prompts")}
    database.dispose()
    client.app.state.services.database.dispose()  # type: ignore[attr-defined]

    found = find_losses(settings, "0004")

    assert found.items() >= {"selections": 1, "prompts": 1, "prompt_versions": 1, "prompt_contents": 1}.items()
    assert found["selections.kind"] == rows["selections"]
    assert "examples.text" not in found, "a column that stays"
    assert revision_of(settings) == own_revisions().head
    assert {table: run_sql(database, f"SELECT count(*) FROM {table}") for table in rows} == rows


def test_command_deletes_nothing_without_a_yes(
    empty_database: Settings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LENS_DATABASE_URL", empty_database.database_url)

    def migrate(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["lens", "migrate", *words])
        with pytest.raises(SystemExit) as end:
            main()
        return int(end.value.code or 0), capfd.readouterr().err

    upgrade_schema(empty_database)
    database = create_database(empty_database, pool_size=1)
    run_sql(database, "INSERT INTO prompts VALUES ('ada', 'triage', 1, false)")
    code, errors = migrate("--to", "0004")
    assert (code, "no place for 1 row of prompts" in errors, "--yes" in errors) == (2, True, True)
    assert run_sql(database, "SELECT count(*) FROM prompts") == 1
    database.dispose()
    assert migrate("--to", "0004", "--yes")[0] == 0
    assert migrate("--to", "0003")[0] == 0, "nothing goes"
    assert migrate("--to", own_revisions().head or "")[0] == 0
    assert revision_of(empty_database) == own_revisions().head


def test_several_upgrades_at_once_all_succeed(empty_database: Settings) -> None:
    script = "from app.schema import upgrade_schema; from app.settings import Settings; upgrade_schema(Settings())"
    environment = {**os.environ, "LENS_DATABASE_URL": empty_database.database_url}
    started = [subprocess.Popen([sys.executable, "-c", script], env=environment, cwd=_ROOT) for _ in range(3)]
    assert [process.wait(60) for process in started] == [0, 0, 0]
    assert revision_of(empty_database) == own_revisions().head


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
    run_sql(database, f"UPDATE selections SET phase = '{phase}'")
