"""What is stored of a job as JSON: it is shown as it was, and a spec that cannot be read ends its job."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.settings import Settings
from app.store.database import Database
from app.store.tables import Job
from tests.integration.conftest import Selections, execute_job
from tests.integration.samples import problem_of

Change = Callable[[dict[str, Any]], None]


def rewrite(database: Database, job_id: str, change: Change) -> None:
    """Change the stored spec of a job."""
    with database.session_scope() as session:
        job = session.get_one(Job, job_id)
        spec = json.loads(json.dumps(job.spec))
        change(spec)
        job.spec = spec


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


@pytest.mark.parametrize(
    "texts", [{}, {"template": ["{text} It was {label}.", "{text} {label}"], "instruction": "Hm?"}]
)
def test_spec_is_shown_as_it_is_stored(selections: Selections, texts: dict[str, Any]) -> None:
    selection_id = selections.queued(**texts)
    stored = selections.read(selection_id).spec
    shown = read(selections.client, f"/selections/{selection_id}")["spec"]
    assert shown == {**stored, "verbalizer": dict(stored["verbalizer"])}
    assert list(shown["verbalizer"]) == ["positive", "negative"]


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        (loosen_a_limit, "/spec/options/filtering/keep"),
        (add_an_option, "/spec/options/filtering/tomorrow"),
        (rename_the_preset, "/spec/preset"),
    ],
)
def test_unreadable_spec_ends_its_job(selections: Selections, settings: Settings, change: Change, pointer: str) -> None:
    selection_id = selections.queued()
    rewrite(selections.database, selection_id, change)

    execute_job(selection_id, settings)

    failed = selections.read(selection_id)
    assert (failed.status, failed.attempt) == ("failed", 1)
    assert failed.error is not None
    assert failed.error["code"] == "spec-unreadable"
    assert [error["pointer"] for error in failed.error["errors"]] == [pointer]
    assert "submit a new one" in failed.error["detail"]
    problem_of(selections.client.get(f"/selections/{selection_id}"), 409, "stored-unreadable")
    assert selections.client.get("/selections").status_code == 200
    assert selections.client.get(f"/pages/selections/{selection_id}").status_code in (200, 409)
    assert selections.client.delete(f"/selections/{selection_id}").status_code == 204
