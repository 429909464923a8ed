"""Selections, evaluations and predictions share tables and routes: none is taken for another."""

from typing import Any

import pytest

from app.settings import Settings
from app.store.database import Database
from tests.integration.conftest import Selections, execute_job, run_sql
from tests.integration.samples import make_spec, problem_of

KINDS = ("selection", "evaluation", "prediction")
OTHERS = [(kind, other) for kind in KINDS for other in KINDS if other != kind]
ROUTES = [("GET", ""), ("GET", "/events"), ("POST", "/cancel"), ("POST", "/retry"), ("POST", "/resume"), ("DELETE", "")]
OWN_ROUTES = {
    "selection": [
        *(("GET", f"/{part}") for part in ("result", "classifier", "support-examples", "suspicious-labels")),
        ("GET", "/export?format=openai-chat"),
        ("GET", "/report"),
        ("POST", "/render"),
        ("POST", "/evaluations"),
        ("POST", "/predictions"),
    ],
    "evaluation": [],
    "prediction": [("GET", "/output")],
}


def have(selections: Selections, settings: Settings, kind: str) -> str:
    """The id of a job of this kind that has succeeded."""
    if kind == "selection":
        return selections.succeeded()
    _, job_id = selections.asked(kind)
    execute_job(job_id, settings)
    assert selections.client.get(f"/{kind}s/{job_id}").json()["status"] == "succeeded"
    return job_id


@pytest.mark.parametrize(("kind", "other"), OTHERS)
def test_routes_of_one_kind_know_no_job_of_another(
    selections: Selections, settings: Settings, kind: str, other: str
) -> None:
    bodies: dict[str, Any] = {"/render": {"input": "x"}, "/evaluations": {}, "/predictions": {"texts": ["x"]}}
    job_id = have(selections, settings, other)
    before = selections.client.get(f"/{other}s/{job_id}").json()
    for method, path in (*ROUTES, *OWN_ROUTES[kind]):
        response = selections.client.request(method, f"/{kind}s/{job_id}{path}", json=bodies.get(path))
        problem_of(response, 404, "not-found")
    assert selections.client.get(f"/{other}s/{job_id}").json() == before


def test_lists_and_cursors_are_of_one_kind(selections: Selections) -> None:
    made = {"selection": set[str]()}
    for kind in ("evaluation", "prediction"):
        selection_id, first = selections.asked(kind)
        made["selection"].add(selection_id)
        made[kind] = {first, selections.asked_of(selection_id, kind)}
    for kind, ids in made.items():
        page = selections.client.get(f"/{kind}s?limit=1").json()
        following = selections.client.get(f"/{kind}s", params={"cursor": page["next"]}).json()
        assert {item["id"] for item in (*page["items"], *following["items"])} == ids
        assert following["next"] is None
        for other in made.keys() - {kind}:
            refused = selections.client.get(f"/{other}s", params={"cursor": page["next"]})
            problem_of(refused, 400, "invalid-cursor")


@pytest.mark.parametrize("kind", ["evaluation", "prediction"])
def test_deleted_selection_leaves_what_was_asked_of_it(
    selections: Selections, settings: Settings, database: Database, kind: str
) -> None:
    selection_id, job_id = selections.asked(kind)
    path = f"/{kind}s/{job_id}"
    assert selections.client.delete(f"/selections/{selection_id}").status_code == 204

    execute_job(job_id, settings)

    assert selections.client.get(path).json()["status"] == "succeeded"
    assert selections.client.get(path).json()["source"]["selection_id"] == selection_id
    assert selections.client.delete(path).status_code == 204
    problem_of(selections.client.get(path), 404, "not-found")
    for table in ("jobs", "datasets", "examples", "predictions", "reports", "events"):
        assert run_sql(database, f"SELECT count(*) FROM {table}") == 0, table


def test_evaluation_of_the_rows_of_a_selection_keeps_them(
    selections: Selections, settings: Settings, database: Database
) -> None:
    selection_id, _ = selections.asked("prediction")
    dataset_id = selections.client.get(f"/selections/{selection_id}").json()["dataset_id"]
    body = {"spec": {"prompts": "classifier"}, "dataset_id": dataset_id}
    made = selections.client.post(f"/selections/{selection_id}/evaluations", json=body)
    assert made.status_code == 202, made.text
    assert selections.client.delete(f"/selections/{selection_id}").status_code == 204

    execute_job(made.json()["id"], settings)

    shown = selections.client.get(made.headers["location"]).json()
    assert (shown["status"], shown["dataset_id"]) == ("succeeded", dataset_id)
    assert (
        run_sql(database, "SELECT num_rows FROM datasets WHERE id = :id", id=dataset_id)
        == (shown["result"]["quality"]["n"])
    )


def test_texts_of_a_prediction_are_no_labelled_dataset(selections: Selections) -> None:
    selection_id, job_id = selections.asked("prediction")
    dataset_id = selections.client.get(f"/predictions/{job_id}").json()["dataset_id"]
    for path, spec in (("/selections", make_spec()), (f"/selections/{selection_id}/evaluations", {})):
        response = selections.client.post(path, json={"spec": spec, "dataset_id": dataset_id})
        problem_of(response, 422, "unknown-dataset")
