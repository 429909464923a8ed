"""The migrations: up, down, up, no drift, and many at once."""

import ast
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import inspect, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.database import Database, create_database
from app.lifecycle.spec import StoredSpec
from app.models import Base
from app.schema import (
    LockPatience,
    SchemaBusy,
    alembic_config,
    current_revision,
    downgrade_schema,
    head_revision,
    upgrade_schema,
)
from app.selections.schemas import SupportExamplesOut
from app.settings import Settings
from lens_engine.config import LabelOptions, PresetName
from lens_engine.presets import resolve_config
from lens_engine.types import Phase
from tests.integration.conftest import Selections
from tests.integration.samples import make_result

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


def insert_selection(session: Session, *, spec: dict[str, Any], spec_version: int = 1, **columns: object) -> None:
    """A selection as a release before stored it."""
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
            f"VALUES ('sel_1', 'owner', 'ds_1', :spec, :spec_version{values})"
        ),
        {"spec": json.dumps(spec), "spec_version": spec_version, **columns},
    )


NEW_OPTIONS = {
    "search": {"objective": "accuracy"},
    "classifier": {"max_prompts": 1, "head": "argmax", "fit_rows": 0},
    "report": {"random_ensemble": False, "random_prompts": False, "long_prompt": False, "bag_of_words": False},
}
"""Options that came with classifiers, with the values that a spec of before has since the upgrade."""

NEW_FIGURES = {"task", "prompt", "classifier", "recommended"}
NEW_BASELINES = {"zero_shot_head", "random_ensemble", "random_prompts", "long_prompt", "bag_of_words"}
TASK = {"template": "{text} {label}", "verbalizer": [["b", "B"], ["a", "A"]], "separator": "\n"}


def config_before_classifiers(preset: PresetName, **options: Any) -> dict[str, Any]:
    """A configuration as a release without classifiers stored it."""
    config = resolve_config(preset, {"search": {"objective": "accuracy"}, **options}).model_dump(mode="json")
    for group, new in NEW_OPTIONS.items():
        config[group] = {name: value for name, value in config[group].items() if name not in new}
    del config["classifier"], config["labels"]
    return config


def spec_before_classifiers(preset: PresetName, **options: Any) -> dict[str, Any]:
    return {**TASK, "model": "m", "preset": preset, "config": config_before_classifiers(preset, **options)}


def result_before_classifiers(verdict: dict[str, Any] | None) -> dict[str, Any]:
    """A result as a release without classifiers stored it."""
    result = make_result(has_classifier=False).model_dump(mode="json")
    result["baselines"] = {name: value for name, value in result["baselines"].items() if name not in NEW_BASELINES}
    return {name: value for name, value in result.items() if name not in NEW_FIGURES} | {"verdict": verdict}


def verdict_before_classifiers(only_lens: int, only_rival: int, p_value: float) -> dict[str, Any]:
    return {
        "better_than_random_and_validation": only_lens > only_rival,
        "only_lens_right": only_lens,
        "only_rival_right": only_rival,
        "p_value": p_value,
        "test": "mcnemar-exact",
    }


def insert_report(session: Session, result: dict[str, Any]) -> None:
    session.execute(
        text("INSERT INTO reports (selection_id, result) VALUES ('sel_1', :result)"), {"result": json.dumps(result)}
    )


def read(database: Database, statement: str) -> Any:
    with database.session_scope() as session:
        return session.execute(text(statement)).scalar_one()


@pytest.fixture
def before_classifiers(empty_database: Settings) -> Iterator[tuple[Settings, Database]]:
    """A database of the release before classifiers."""
    upgrade_schema(empty_database, "0003")
    database = create_database(empty_database, pool_size=1)
    yield empty_database, database
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


@pytest.fixture
def locked_table(empty_database: Settings) -> Iterator[tuple[Settings, Session]]:
    """A database at the first revision, and a session that holds a lock on selections, as pg_dump does."""
    upgrade_schema(empty_database, "0001")
    database = create_database(empty_database, pool_size=1)
    with database.session_scope() as session:
        session.execute(text("LOCK TABLE selections IN ACCESS SHARE MODE"))
        yield empty_database, session
    database.dispose()


def test_migration_waits_for_another_session_to_end(locked_table: tuple[Settings, Session]) -> None:
    settings, session = locked_table
    release = threading.Timer(3.0, session.commit)  # after the first try of 2 s
    release.start()
    upgrade_schema(settings, patience=LockPatience(tries=10, pause_seconds=0.5))
    release.join()
    assert revision_of(settings) == head_revision()


def test_migration_gives_up_after_its_last_try_and_says_why(locked_table: tuple[Settings, Session]) -> None:
    settings, _ = locked_table
    with pytest.raises(SchemaBusy, match="2 tries did not get it; wait until the session ends"):
        upgrade_schema(settings, patience=LockPatience(tries=2, pause_seconds=0.1))
    assert revision_of(settings) == "0001"


def test_new_checks_are_not_validated_under_an_exclusive_lock() -> None:
    """From 0006 on: a CHECK on a table of an earlier migration is added NOT VALID."""
    assert validating_checks("op.create_check_constraint('ck', 'selections', 'x')") == 1
    assert validating_checks("op.create_check_constraint('ck', 'selections', 'x', postgresql_not_valid=True)") == 0
    later = [path for path in (_ROOT / "migrations" / "versions").glob("0*.py") if path.name[:4] > "0005"]
    assert {path.name: validating_checks(path.read_text()) for path in later} == {path.name: 0 for path in later}


def validating_checks(source: str) -> int:
    """Number of calls that add a CHECK and read the whole table for it."""
    return sum(
        not any(keyword.arg == "postgresql_not_valid" for keyword in call.keywords)
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "create_check_constraint"
    )


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
    config = config_before_classifiers("quick")
    config["search"] |= {"elimination": True, "random_substitutions": 0.0, "initial_starts": 64, "shortlist": 16}
    config["budget"] = {"max_forwards": 500, "max_seconds": None}
    progress = {"phase": "search", "forwards_done": 3, "forwards_total": 9, "message": ""}
    cost = {"forwards": 7, "tokens": 70, "permutations_evaluated": 4, "permutations_eliminated": 1}
    database = create_database(empty_database, pool_size=1)
    try:
        with database.session_scope() as session:
            spec = {**TASK, "model": "m", "preset": "quick", "config": config}
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
        assert (StoredSpec.model_validate(stored).config.budget.max_pairs, version) == (500, 3)
        assert seen == {"phase": "search", "pairs_done": 3, "pairs_total": 9}
        assert report["cost"] == {"pairs": 7, "tokens": 70, "permutations_judged": 4, "permutations_dropped": 1}
        assert report["provenance"]["config"] == config  # the digest covers it
        downgrade_schema(empty_database, "0002")
        with database.session_scope() as session:
            restored = session.execute(text("SELECT result FROM reports")).scalar_one()
        assert restored == result
    finally:
        database.dispose()


@pytest.mark.parametrize(
    ("verdict", "use", "sentence"),
    [
        (
            verdict_before_classifiers(12, 5, 0.1434),
            "support_examples",
            "Use the support examples: 12 test rows are right with the support examples only, and 5 with "
            "random-and-validation only (p = 0.1434); the selection made no classifier.",
        ),
        (
            verdict_before_classifiers(40, 3, 1.9e-9),
            "support_examples",
            "Use the support examples: 40 test rows are right with the support examples only, and 3 with "
            "random-and-validation only (p < 0.0001); the selection made no classifier.",
        ),
        (
            verdict_before_classifiers(4, 4, 1.0),
            "random_and_validation",
            "Use random-and-validation: 4 test rows are right with the support examples only, and 4 with "
            "random-and-validation only (p = 1); the selection made no classifier.",
        ),
    ],
)
def test_result_of_before_is_readable_after_the_upgrade(
    before_classifiers: tuple[Settings, Database], verdict: dict[str, Any], use: str, sentence: str
) -> None:
    settings, database = before_classifiers
    result = result_before_classifiers(verdict)
    with database.session_scope() as session:
        insert_selection(session, spec=spec_before_classifiers("quick"), spec_version=2)
        insert_report(session, result)
    upgrade_schema(settings)
    stored = read(database, "SELECT result FROM reports")
    shown = SupportExamplesOut.model_validate({**stored, "selection_id": "sel_1"})
    assert shown.verdict is not None
    assert (shown.verdict.use, shown.verdict.sentence, shown.verdict.test) == (use, sentence, "mcnemar-exact")
    is_ahead, is_significant = verdict["better_than_random_and_validation"], verdict["p_value"] < 0.05
    assert (shown.verdict.ahead, shown.verdict.significant) == (is_ahead, is_significant)
    assert [comparison.model_dump() for comparison in shown.verdict.comparisons] == [
        {
            "rival": "random_and_validation",
            "ahead": is_ahead,
            "significant": is_significant,
            "only_classifier_right": verdict["only_lens_right"],
            "only_rival_right": verdict["only_rival_right"],
            "p_value": verdict["p_value"],
        }
    ]
    assert (shown.usable_classifier, shown.digest) == (None, result["digest"])
    downgrade_schema(settings, "0003")
    assert read(database, "SELECT result FROM reports") == result


def test_result_of_before_without_a_verdict_stays_as_it_is(before_classifiers: tuple[Settings, Database]) -> None:
    settings, database = before_classifiers
    result = result_before_classifiers(None)
    with database.session_scope() as session:
        insert_selection(session, spec=spec_before_classifiers("quick"), spec_version=2)
        insert_report(session, result)
    upgrade_schema(settings)
    assert SupportExamplesOut.model_validate({**read(database, "SELECT result FROM reports"), "selection_id": "sel_1"})
    downgrade_schema(settings, "0003")
    assert read(database, "SELECT result FROM reports") == result


def test_downgrade_leaves_the_options_of_labels_out(empty_database: Settings) -> None:
    upgrade_schema(empty_database)
    config = resolve_config("quick", {"labels": {"rare": "drop"}, "seed": 7}).model_dump(mode="json")
    spec = {**TASK, "model": "m", "preset": "quick", "config": config}
    database = create_database(empty_database, pool_size=1)
    try:
        with database.session_scope() as session:
            insert_selection(session, spec=spec, spec_version=4)
            session.execute(
                text(
                    "INSERT INTO idempotency_keys (owner_id, key, body_sha256, selection_id, answer) "
                    "VALUES ('owner', 'key', repeat('0', 64), 'sel_1', :answer)"
                ),
                {"answer": json.dumps({"spec": spec})},
            )
        downgrade_schema(empty_database, "0004")
        del config["labels"]
        assert read(database, "SELECT spec_version FROM selections") == 3
        assert read(database, "SELECT spec FROM selections") == {**spec, "config": config}
        answer = read(database, "SELECT answer FROM idempotency_keys")
        assert answer["spec"]["config"] == config
        assert StoredSpec.model_validate({**spec, "config": config}).config.labels == LabelOptions()
    finally:
        database.dispose()
