"""Datasets as a resource: stored once, listed, described, and kept as long as they are used."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.lifecycle.sweep import forget_old
from app.pages.creation import suggest
from app.settings import Settings
from app.store import datasets as repository
from app.store.database import Database
from app.store.services import Services
from app.web.authentication import LOCAL_OWNER
from tests.integration.conftest import MakeClient, Selections, count_rows
from tests.integration.prompts_with_pools import make_finding_result
from tests.integration.samples import make_csv, make_result, make_rows, make_spec, make_submission, problem_of


def store(client: TestClient, rows: list[dict[str, str]] | None = None) -> dict[str, Any]:
    response = client.post("/datasets", json={"examples": rows or make_rows(), "name": "reviews"})
    assert response.status_code in (200, 201), response.text
    found: dict[str, Any] = response.json()
    assert response.headers["location"] == f"/datasets/{found['id']}"
    return found


def test_equal_rows_are_stored_once(client: TestClient, database: Database) -> None:
    first = store(client)
    again = client.post("/datasets", json={"examples": make_rows()})
    assert (again.status_code, again.json()["id"], again.json()["name"]) == (200, first["id"], "reviews")
    assert count_rows(database, "datasets") == 1
    assert (first["rows"], first["is_kept"]) == (60, True)
    assert first["labels"] == [{"label": "negative", "rows": 30}, {"label": "positive", "rows": 30}]
    assert client.get(f"/datasets/{first['id']}").json() == first
    assert client.get("/datasets").json()["items"] == [first]


def test_equal_rows_that_come_at_once_are_stored_once(make_client: MakeClient, database: Database) -> None:
    body, clients = {"examples": make_rows()}, [make_client() for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda one: one.post("/datasets", json=body), clients))
    assert sorted(one.status_code for one in answers) == [200, 200, 200, 201]
    assert count_rows(database, "datasets") == 1


def test_file_is_read_as_that_of_a_selection(client: TestClient) -> None:
    response = client.post("/datasets", files={"dataset": ("reviews.csv", make_csv())})
    assert (response.status_code, response.json()["format"]) == (201, "csv")
    refusal = problem_of(
        client.post("/datasets", files={"dataset": ("a.csv", b"text,label\na,b\n")}), 422, "dataset-empty"
    )
    assert refusal["errors"][0]["pointer"] == "/dataset"
    problem_of(
        client.post("/datasets", data={"text_column": "text"}, files={"test": ("a.csv", b"")}), 422, "invalid-request"
    )


def test_stored_dataset_serves_selections_and_stays(client: TestClient, selections: Selections) -> None:
    dataset = store(client)
    submission = {"dataset_id": dataset["id"], "spec": make_spec()}
    selection = client.post("/selections", json=submission).json()
    assert selection["dataset_id"] == dataset["id"]
    refusal = problem_of(client.delete(f"/datasets/{dataset['id']}"), 409, "dataset-in-use")
    assert f"/selections/{selection['id']}" in refusal["detail"]

    client.post(f"/selections/{selection['id']}/cancel")
    assert client.delete(f"/selections/{selection['id']}").status_code == 204
    assert client.get(f"/datasets/{dataset['id']}").status_code == 200
    assert client.delete(f"/datasets/{dataset['id']}").status_code == 204
    problem_of(client.get(f"/datasets/{dataset['id']}"), 404, "not-found")
    problem_of(client.post("/selections", json=submission), 422, "unknown-dataset")
    assert selections.status_of(selections.queued()) == "queued"


def test_upload_of_a_selection_stays_if_it_was_stored_too(client: TestClient, selections: Selections) -> None:
    selection_id = selections.queued()
    dataset_id = client.get(f"/selections/{selection_id}").json()["dataset_id"]
    assert not client.get(f"/datasets/{dataset_id}").json()["is_kept"]
    assert store(client)["id"] == dataset_id
    client.post(f"/selections/{selection_id}/cancel")
    client.delete(f"/selections/{selection_id}")
    assert client.get(f"/datasets/{dataset_id}").json()["is_kept"]


def test_advice_may_be_of_a_sample(client: TestClient, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    dataset = store(client, [*make_rows(), {"text": "a third thing", "label": "rare"}])
    services: Services = client.app.state.services  # type: ignore[attr-defined]
    monkeypatch.setattr(repository, "SAMPLE_ROWS", 40)  # in this process, and the reader is another

    found = suggest(services, LOCAL_OWNER, dataset["id"], dataset["id"], settings.default_model)
    assert found["sampled"] == [(40, 61), (40, 61)]
    assert {label: rows for label, rows, *_ in found["labels"]} == {"negative": 30, "positive": 30, "rare": 1}
    asked = f"/pages/suggestion?dataset={dataset['id']}"
    client.app.state.suggestions["local", dataset["id"], None, settings.default_model] = found  # type: ignore[attr-defined]
    page = client.get(asked, headers={"HX-Request": "true"}).text
    assert "a sample of 40 rows of 61" in page


def test_old_dataset_without_use_is_forgotten(client: TestClient, settings: Settings, selections: Selections) -> None:
    used = store(client)["id"]
    unused = store(client, make_rows()[:40])["id"]
    client.post("/selections", json={"dataset_id": used, "spec": make_spec()})
    assert selections
    old = settings.model_copy(update={"keep_days": 0.0})
    forget_old(selections.database, settings)
    assert {one["id"] for one in client.get("/datasets").json()["items"]} == {used, unused}
    forget_old(selections.database, old)
    assert [one["id"] for one in client.get("/datasets").json()["items"]] == [used]


def test_pages_join_to_all_datasets(client: TestClient) -> None:
    made = [store(client, make_rows()[number:])["id"] for number in range(3)]
    first = client.get("/datasets?limit=2").json()
    found = [one["id"] for one in first["items"]]
    while first["next"]:
        first = client.get(f"/datasets?limit=2&cursor={first['next']}").json()
        found += [one["id"] for one in first["items"]]
    assert found == made[::-1]
    problem_of(
        client.get("/datasets", params={"cursor": client.get("/selections?limit=1").json()["next"] or "x"}),
        400,
        "invalid-cursor",
    )


def test_dataset_is_stored_also_while_jobs_run(make_client: MakeClient) -> None:
    client = make_client(max_selections=1)
    assert client.post("/selections", json=make_submission()).status_code == 202
    assert store(client)["rows"] == 60


def test_every_route_of_rows_takes_large_files(client: TestClient, selections: Selections) -> None:
    rows = [{"text": f"a warm film {number} " + "x" * 300, "label": "positive"} for number in range(2000)]
    content = make_csv([*rows, {"text": "a dull film", "label": "negative"}])
    assert len(content) > 600_000
    assert client.post("/datasets", files={"dataset": ("a.csv", content)}).status_code == 201
    for result in (make_result(), make_finding_result()):  # the second reads its pool too
        path = f"/selections/{selections.succeeded(result)}/texts"
        assert len(client.post(path, files={"texts": ("a.csv", content)}).json()["texts"]) == 2001
