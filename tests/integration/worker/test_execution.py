"""How a run ends, and what becomes of its selection."""

import logging
from typing import Any

import pytest
from sqlalchemy import text

from app.database import Database
from app.selections import claims
from app.settings import Settings
from lens_engine.classifier.artefact import Classifier
from lens_engine.result import SelectionResult
from lens_engine.run.checkpoint import Checkpoint
from lens_engine.testing import TableScorer
from lens_engine.types import Phase
from tests.integration.conftest import Selections
from tests.integration.samples import SMALL_OPTIONS
from worker.execution import Attempt, execute_selection


def with_double(settings: Settings, double: str) -> Settings:
    reference = f"testing:tests.integration.worker.doubles:{double}"
    return settings.model_copy(update={"allowed_models": {settings.default_model: reference}})


def run_with(settings: Settings, double: str, selection_id: str) -> None:
    execute_selection(selection_id, with_double(settings, double))


def read(database: Database, statement: str, **values: object) -> Any:
    with database.session_scope() as session:
        return session.execute(text(statement), values).scalar()


def test_a_run_that_completes_succeeds(selections: Selections, settings: Settings) -> None:
    selection_id = selections.queued()

    run_with(settings, "sound", selection_id)

    selection = selections.client.get(f"/selections/{selection_id}").json()
    assert selection["status"] == "succeeded"
    assert selection["progress"]["phase"] == "evaluate"


def test_a_run_that_completes_stores_the_classifier_of_its_result(selections: Selections, settings: Settings) -> None:
    selection_id = selections.queued()

    run_with(settings, "sound", selection_id)

    result = selections.client.get(f"/selections/{selection_id}/support-examples").json()
    del result["selection_id"]
    expected = SelectionResult.model_validate(result).usable_classifier
    assert expected is not None
    stored = selections.client.get(f"/selections/{selection_id}/classifier").content
    classifier = Classifier.model_validate_json(stored)
    assert classifier == expected
    assert set(classifier.predict(["a warm film"], TableScorer()).labels) <= {"positive", "negative"}
    events = selections.client.get(f"/selections/{selection_id}/events").json()["items"]
    assert [event["data"] for event in events if event["type"] == "classifier"] == [
        {
            "size": len(expected.prompts),
            "head": expected.head.kind,
            "accuracy": expected.test and expected.test.accuracy,
            "use": result["verdict"]["use"],
        }
    ]


def test_a_run_of_the_papers_settings_stores_its_single_prompt(selections: Selections, settings: Settings) -> None:
    paper = {
        "search": {"objective": "accuracy"},
        "classifier": {"max_prompts": 1, "head": "argmax", "fit_rows": 0},
        "report": {"random_ensemble": False, "random_prompts": False, "long_prompt": False},
    }
    selection_id = selections.queued(options=SMALL_OPTIONS | paper)

    run_with(settings, "sound", selection_id)

    path = f"/selections/{selection_id}"
    best = selections.client.post(f"{path}/render", json={"input": "x"}).json()["prompt"]
    result = selections.client.get(f"{path}/support-examples").json()
    classifier = Classifier.model_validate(result["classifier"]["artefact"])
    [prompt] = classifier.prompts
    assert best.startswith(prompt.text)
    assert (len(prompt.rows), classifier.head.kind) == (len(result["examples"]), "argmax")


@pytest.mark.parametrize("status", ["running", "succeeded", "failed", "cancelled"])
def test_a_selection_that_does_not_wait_is_left_alone(selections: Selections, settings: Settings, status: str) -> None:
    selection_id = selections.in_state(status)
    before = selections.client.get(f"/selections/{selection_id}").json()

    run_with(settings, "sound", selection_id)

    assert selections.client.get(f"/selections/{selection_id}").json() == before


def test_an_unknown_selection_is_passed_over(settings: Settings) -> None:
    run_with(settings, "sound", "sel_gone")


@pytest.mark.parametrize(
    ("double", "code", "pointer"),
    [
        ("narrow", "prompt-too-long", "/dataset/rows/"),
        ("unsteady", "non-finite", None),
        ("hungry", "out-of-memory", None),
        ("late", "timeout", None),
    ],
)
def test_an_error_that_would_come_again_fails_the_selection_at_once(
    selections: Selections, settings: Settings, double: str, code: str, pointer: str | None
) -> None:
    selection_id = selections.queued()

    run_with(settings, double, selection_id)

    selection = selections.client.get(f"/selections/{selection_id}").json()
    assert (selection["status"], selection["attempt"]) == ("failed", 1)
    assert selection["error"]["type"].endswith(f"/problems/{code}")
    pointers = [error["pointer"] for error in selection["error"]["errors"]]
    assert [found.startswith(pointer or "") for found in pointers] == ([True] if pointer else [])


def test_a_model_that_is_no_longer_allowed_fails_the_selection(selections: Selections, settings: Settings) -> None:
    selection_id = selections.queued()

    execute_selection(selection_id, settings.model_copy(update={"allowed_models": {"other": "other"}}))

    assert selections.client.get(f"/selections/{selection_id}").json()["error"]["type"].endswith("/unknown-model")


def test_a_fault_of_ours_gives_the_lease_up_and_is_not_hidden(
    selections: Selections, settings: Settings, database: Database
) -> None:
    selection_id = selections.queued()

    with pytest.raises(RuntimeError, match="a fault of ours"):
        run_with(settings, "faulty", selection_id)

    assert selections.status_of(selection_id) == "running"
    assert read(database, "SELECT lease_until <= now() FROM selections WHERE id = :id", id=selection_id)


def test_a_run_without_a_heartbeat_writes_nothing_and_gives_the_lease_up(
    selections: Selections, settings: Settings, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    claim = selections.running()
    attempt = Attempt(database, claim, with_double(settings, "sound"))
    attempt._monitor.lose()  # as a heartbeat does that ends by an error

    with caplog.at_level(logging.INFO, "worker.execution"):
        attempt.run()

    assert "writes nothing: the claim is lost" in caplog.text
    assert selections.status_of(claim.selection_id) == "running"
    assert read(database, "SELECT lease_until <= now() FROM selections WHERE id = :id", id=claim.selection_id)


def test_a_shutdown_gives_the_selection_back_with_its_checkpoint(
    selections: Selections, settings: Settings, database: Database
) -> None:
    selection_id = selections.queued()

    run_with(settings, "interrupted", selection_id)

    assert selections.status_of(selection_id) == "queued"
    assert read(database, "SELECT crashes FROM selections WHERE id = :id", id=selection_id) == 0
    assert read(database, "SELECT count(*) FROM checkpoints WHERE selection_id = :id", id=selection_id) == 1


def test_a_released_run_ends_as_if_it_had_not_been_stopped(selections: Selections, settings: Settings) -> None:
    stopped_id, other_id = selections.queued(), selections.queued()

    run_with(settings, "interrupted", stopped_id)
    run_with(settings, "sound", stopped_id)
    run_with(settings, "sound", other_id)

    stopped, other = (selections.client.get(f"/selections/{id_}").json() for id_ in (stopped_id, other_id))
    assert stopped["attempt"] == 2
    assert stopped["digest"] == other["digest"]


@pytest.mark.parametrize("data", [b"", b"torn", bytes(64)])
def test_a_damaged_checkpoint_is_dropped_and_reported(
    selections: Selections, settings: Settings, database: Database, data: bytes
) -> None:
    selection_id = _released_with_checkpoint(selections, database)
    with database.session_scope() as session:
        session.execute(text("UPDATE checkpoints SET data = :data"), {"data": data})

    run_with(settings, "sound", selection_id)

    assert selections.status_of(selection_id) == "succeeded"
    assert read(database, "SELECT count(*) FROM events WHERE type = 'checkpoint-damaged'") == 1


def test_a_checkpoint_of_another_run_is_dropped_and_reported(
    selections: Selections, settings: Settings, database: Database
) -> None:
    selection_id = _released_with_checkpoint(selections, database)

    run_with(settings, "sound", selection_id)

    assert selections.status_of(selection_id) == "succeeded"
    assert read(database, "SELECT count(*) FROM events WHERE type = 'checkpoint-foreign'") == 1


def _released_with_checkpoint(selections: Selections, database: Database) -> str:
    claim = selections.running()
    foreign = Checkpoint(fingerprint="of another run", phase=Phase.FILTER, step=1, dtype="float32")
    with database.session_scope() as session:
        assert claims.save_checkpoint(session, claim, foreign)
        assert claims.release(session, claim)
    return claim.selection_id
