"""What is stored of a job as JSON: it is shown as it was, and a spec that cannot be read ends its job."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from app.settings import Settings
from app.store.tables import Job
from lens_engine.presets import overlay_options
from tests.integration.conftest import Selections, execute_job
from tests.integration.samples import problem_of


def read(client: TestClient, path: str) -> Any:
    response = client.get(path)
    assert response.status_code == 200, response.text
    return response.json()


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
        ({"config": {"filtering": {"keep": 6_000}}}, "/spec/options/filtering/keep"),
        ({"config": {"filtering": {"tomorrow": {"is": [1, None]}}}}, "/spec/options/filtering/tomorrow"),
        ({"preset": "gone"}, "/spec/preset"),
    ],
)
def test_unreadable_spec_ends_its_job(selections: Selections, settings: Settings, change: Any, pointer: str) -> None:
    selection_id = selections.queued()
    with selections.database.session_scope() as session:
        job = session.get_one(Job, selection_id)
        job.spec = overlay_options(job.spec, change)

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
