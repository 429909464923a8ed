"""Texts to label next, of the service: by JSON, by a file, by the client; for the owner of the rows alone."""

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.api_keys import headers_of
from tests.integration.conftest import MakeClient, Selections
from tests.integration.samples import make_rows, problem_of

NEW = ["the gas bill is late", "a phone bill", "", "The gas bill is late", make_rows()[0]["text"]]


def test_texts_are_suggested_beside_a_selection_and_a_dataset(client: TestClient, selections: Selections) -> None:
    selection_id = selections.succeeded()
    answer = client.post("/label-suggestions", json={"selection_id": selection_id, "texts": NEW})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert {(one["input"], one["text"]) for one in found["items"]} == {(0, NEW[0]), (1, NEW[1])}
    assert sorted(one["chosen_by"] for one in found["items"]) == ["at random", "spread"]
    assert found["table"] is None
    assert (found["compared"], len(found["items"])) == (2, 2)

    dataset_id = client.get(f"/selections/{selection_id}").json()["dataset_id"]
    files = {
        "texts": ("new.csv", "id,text\n" + "".join(f"{n},{text}\n" for n, text in enumerate(NEW)) + "x" * 70_000),
        "spec": (None, json.dumps({"dataset_id": dataset_id, "n": 2}), "application/json"),
    }
    by_file = client.post("/label-suggestions", files=files)
    assert by_file.status_code == 200, by_file.text
    assert {one["input"] for one in by_file.json()["items"]} == {0, 1}
    header, *lines = by_file.json()["table"].splitlines()
    assert header == '"id","text","label","chosen_by"'
    assert sorted(lines) == [f'"0","{NEW[0]}","","spread"', f'"1","{NEW[1]}","","at random"']


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        ({"texts": ["a"]}, 422, "invalid-request"),
        ({"texts": ["a"], "dataset_id": "ds_1", "selection_id": "sel_1"}, 422, "invalid-request"),
        ({"texts": [], "dataset_id": "ds_1"}, 422, "invalid-request"),
        ({"texts": ["a"], "dataset_id": "ds_1", "n": 1001}, 422, "invalid-request"),
        ({"texts": ["a"], "dataset_id": "ds_1"}, 404, "not-found"),
        ({"texts": ["a"], "selection_id": "sel\u0000"}, 422, "invalid-request"),
    ],
)
def test_body_that_names_no_rows_is_refused(client: TestClient, sent: dict[str, Any], status: int, code: str) -> None:
    problem_of(client.post("/label-suggestions", json=sent), status, code)


def test_rows_of_another_owner_are_not_found(make_guarded: MakeClient) -> None:
    client = make_guarded("mine", "theirs")
    mine, theirs = headers_of("mine"), headers_of("theirs")
    stored = client.post("/datasets", json={"examples": make_rows()}, headers=mine).json()
    body = {"texts": NEW, "dataset_id": stored["id"]}
    assert client.post("/label-suggestions", json=body, headers=mine).status_code == 200
    problem_of(client.post("/label-suggestions", json=body, headers=theirs), 404, "not-found")


def test_page_of_a_result_takes_a_file_of_texts(client: TestClient, selections: Selections) -> None:
    selection_id = selections.succeeded()
    page = client.get(f"/pages/selections/{selection_id}").text
    assert f'data-api="/label-suggestions" data-kind="next" data-selection="{selection_id}"' in page
