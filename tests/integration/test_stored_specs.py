"""Stored rows of other releases: they are shown as they are stored, and run or left alone by what they say.

`golden/spec_version_1.json` is a spec as it is stored. It changes with the options until the first release.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text, update
from starlette.testclient import TestClient

from app.database import Database
from app.lifecycle.spec import SPEC_VERSION, StoredSpec
from app.models import Job, Report, StoredClassifier
from app.settings import Settings
from tests.integration.conftest import Selections, run_sql
from tests.integration.samples import make_submission
from worker.execution import execute_job

Change = Callable[[dict[str, Any]], None]

_ID = "sel_01jd5g9k2m7x8y4z0q3r6t1v5w"
_GOLDEN = Path(__file__).parent / "golden"


def golden_spec() -> dict[str, Any]:
    spec: dict[str, Any] = json.loads((_GOLDEN / "spec_version_1.json").read_text())
    return spec


def insert(database: Database, spec: dict[str, Any], version: int) -> None:
    with database.session_scope() as session:
        session.execute(
            text(
                "INSERT INTO datasets (id, owner_id, sha256, format, num_rows, label_counts, warnings) "
                "VALUES ('ds_1', 'local', repeat('0', 64), 'inline', 1, '{}', '[]')"
            )
        )
        session.execute(
            text(
                "INSERT INTO jobs (id, owner_id, dataset_id, spec, spec_version, progress) "
                "VALUES (:id, 'local', 'ds_1', :spec, :version, :progress)"
            ),
            {
                "id": _ID,
                "spec": json.dumps(spec),
                "version": version,
                "progress": json.dumps({"phase": "filter", "step": 1}),
            },
        )


def rewrite(database: Database, selection_id: str, change: Change, version: int = SPEC_VERSION) -> None:
    """Store a selection as another release would."""
    with database.session_scope() as session:
        selection = session.get_one(Job, selection_id)
        spec = json.loads(json.dumps(selection.spec))
        change(spec)
        selection.spec, selection.spec_version = spec, version


def read(client: TestClient, path: str) -> Any:
    response = client.get(path)
    assert response.status_code == 200, response.text
    return response.json()


def add_an_option(spec: dict[str, Any]) -> None:
    spec["config"]["filtering"]["tomorrow"] = {"is": [1, None]}


def loosen_a_limit(spec: dict[str, Any]) -> None:
    spec["config"]["filtering"]["keep"] = 6_000


def rename_the_preset(spec: dict[str, Any]) -> None:
    spec["preset"] = "gone"


@pytest.mark.parametrize("version", [SPEC_VERSION, SPEC_VERSION + 1])
def test_spec_is_shown_as_it_is_stored(client: TestClient, database: Database, version: int) -> None:
    spec = golden_spec()
    if version == SPEC_VERSION:
        assert StoredSpec.read(spec, version).config.seed == 7
    else:
        add_an_option(spec)
    insert(database, spec, version)
    shown = read(client, f"/selections/{_ID}")
    assert shown["spec"] == {**spec, "verbalizer": dict(spec["verbalizer"])}
    assert list(shown["spec"]["verbalizer"]) == ["positive", "negative"]
    assert shown["progress"] == {"phase": "filter", "step": 1}
    (item,) = read(client, "/selections")["items"]
    assert item["progress"] == shown["progress"]
    assert read(client, f"/selections/{_ID}/events")["items"][0]["type"] == "status"


@pytest.mark.parametrize("change", [add_an_option, loosen_a_limit, rename_the_preset])
def test_row_of_another_release_spoils_no_read(selections: Selections, database: Database, change: Change) -> None:
    selection_id, other_id = selections.succeeded(), selections.queued()
    rewrite(database, selection_id, change)
    with database.session_scope() as session:
        session.execute(update(Job).values(progress={"phase": "polish", "pairs_done": 3, "steps": 2, "glow": 1.5}))
    path = f"/selections/{selection_id}"
    shown = read(selections.client, path)
    expected = json.loads(json.dumps(shown["spec"]))
    change(expected)
    assert shown["spec"] == expected
    assert shown["progress"]["glow"] == 1.5
    assert [item["id"] for item in read(selections.client, "/selections")["items"]] == [other_id, selection_id]
    assert read(selections.client, f"{path}/support-examples")["selection_id"] == selection_id
    rendered = selections.client.post(f"{path}/render", json={"input": "x"}).json()
    assert rendered["prompts"][0]["prompt"].endswith("x It was")
    assert selections.client.get(path, headers={"If-None-Match": "*"}).status_code == 304


def test_result_of_a_newer_release_is_shown_as_it_is_stored(selections: Selections, database: Database) -> None:
    selection_id = selections.succeeded()
    path = f"/selections/{selection_id}/result"
    with database.session_scope() as session:
        stored = session.get_one(Report, selection_id)
        stored.result = {**stored.result, "outlook": {"tomorrow": "bright"}}
        own = session.get_one(StoredClassifier, selection_id).classifier
        expected = {**stored.result, "classifier": own, "selection_id": selection_id, "pool_rows": None}
    response = selections.client.get(path)
    assert (response.status_code, response.json()) == (200, expected)
    known = {"If-None-Match": response.headers["etag"]}
    assert selections.client.get(path, headers=known).status_code == 304


def test_answer_of_another_release_is_replayed_as_it_was(client: TestClient, database: Database) -> None:
    def post() -> Any:
        return client.post("/selections", json=make_submission(), headers={"Idempotency-Key": "key"})

    answer = post().json()
    add_an_option(answer["spec"])
    del answer["digest"]
    answer["queue"] = {"position": 3}
    run_sql(database, "UPDATE idempotency_keys SET answer = :answer", answer=json.dumps(answer))
    replayed = post()
    assert (replayed.status_code, replayed.json()) == (202, answer)
    assert replayed.headers["idempotent-replayed"] == "true"
    assert replayed.headers["location"] == f"/selections/{answer['id']}"


def test_newer_spec_is_given_back_and_waits_ever_longer(
    selections: Selections, database: Database, settings: Settings
) -> None:
    selection_id = selections.queued()
    rewrite(database, selection_id, add_an_option, SPEC_VERSION + 1)
    waits = []
    for _ in range(3):
        with database.session_scope() as session:
            session.execute(text("UPDATE jobs SET not_before = now()"))
        execute_job(selection_id, settings)
        with database.session_scope() as session:
            waits.append(session.scalar(text("SELECT extract(epoch FROM not_before - queued_at) FROM jobs")))
    assert [round(float(wait or 0)) for wait in waits] == [5, 10, 20]
    with database.session_scope() as session:
        stored = session.get_one(Job, selection_id)
        assert (stored.status, stored.attempt, stored.crashes) == ("queued", 3, 0)


def test_unknown_option_of_this_version_is_left_to_a_worker_that_knows_it(
    selections: Selections, database: Database, settings: Settings
) -> None:
    selection_id = selections.queued()
    rewrite(database, selection_id, add_an_option)

    execute_job(selection_id, settings)

    with database.session_scope() as session:
        stored = session.get_one(Job, selection_id)
        assert (stored.status, stored.crashes, stored.error) == ("queued", 0, None)
        assert session.scalar(text("SELECT not_before > now() FROM jobs"))
    events = read(selections.client, f"/selections/{selection_id}/events")["items"]
    [event] = [event for event in events if event["type"] == "spec-newer"]
    assert "filtering.tomorrow" in event["data"]["detail"]


@pytest.mark.parametrize(
    ("change", "version", "pointer"),
    [
        (loosen_a_limit, SPEC_VERSION, "/spec/options/filtering/keep"),
        (loosen_a_limit, SPEC_VERSION - 1, "/spec/options/filtering/keep"),
        (add_an_option, SPEC_VERSION - 1, "/spec/options/filtering/tomorrow"),
        (rename_the_preset, SPEC_VERSION - 1, "/spec/preset"),
    ],
)
def test_spec_that_can_never_be_run_fails_at_once_and_says_why(
    selections: Selections, database: Database, settings: Settings, change: Change, version: int, pointer: str
) -> None:
    selection_id = selections.queued()
    rewrite(database, selection_id, change, version)

    execute_job(selection_id, settings)

    failed = read(selections.client, f"/selections/{selection_id}")
    assert (failed["status"], failed["attempt"]) == ("failed", 1)
    assert failed["error"]["code"] == "spec-refused"
    assert [error["pointer"] for error in failed["error"]["errors"]] == [pointer]
    assert "submit a new one" in failed["error"]["detail"]
