"""POST /selections/{id}/render: the prompt of a production system, byte for byte."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from lens_engine.task.template import Task, Template, Verbalizer
from lens_engine.types import Example
from tests.integration.conftest import Selections
from tests.integration.samples import make_result, pointers_of, problem_of

TASK = Task(Template("{text} It was {label}."), Verbalizer({"positive": "great", "negative": "terrible"}))


def expected_prompt(text: str) -> str:
    demonstrations = [Example(example.row, example.text, example.label) for example in make_result().examples]
    return TASK.render_prompt(demonstrations, text)


@pytest.mark.parametrize(
    "text",
    [
        "A fine day.",
        "",
        "{label} {{x}} %s $1",
        'quotes " and \\ and\nnewlines',
        "日本語 🎬",
        "  spaces  ",
        "\u202ebidi",
        "\x00",
    ],
)
def test_prompt_is_what_was_scored(client: TestClient, selections: Selections, text: str) -> None:
    selection_id = selections.succeeded()
    response = client.post(f"/selections/{selection_id}/render", json={"input": text})
    prompt = expected_prompt(text)
    assert response.status_code == 200
    assert response.json() == {
        "selection_id": selection_id,
        "prompt": prompt,
        "characters": len(prompt),
        "tokens": {"demonstrations": 15, "query": None},
    }


def test_first_prompt_reads_as_it_should(client: TestClient, selections: Selections) -> None:
    response = client.post(f"/selections/{selections.succeeded()}/render", json={"input": "Fun."})
    assert response.json()["prompt"] == (
        "a dull film at dawn It was terrible.\na warm film at dawn It was great.\nFun. It was"
    )


def test_several_inputs_give_several_prompts_in_order(client: TestClient, selections: Selections) -> None:
    response = client.post(f"/selections/{selections.succeeded()}/render", json={"inputs": ["b", "a"]})
    assert [item["prompt"] for item in response.json()["prompts"]] == [expected_prompt("b"), expected_prompt("a")]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, ""),
        ({"input": "a", "inputs": ["b"]}, ""),
        ({"input": 5}, "/input"),
        ({"inputs": []}, "/inputs"),
        ({"inputs": ["a", None]}, "/inputs/1"),
        ({"inputs": ["x"] * 101}, "/inputs"),
        ({"input": "a", "model": "b"}, "/model"),
        ([], ""),
    ],
)
def test_bad_body_is_refused_with_its_place(
    client: TestClient, selections: Selections, body: Any, pointer: str
) -> None:
    response = client.post(f"/selections/{selections.succeeded()}/render", json=body)
    assert pointers_of(problem_of(response, 422, "invalid-request"))[0] == pointer


@pytest.mark.parametrize(
    "content", ["", "{", '{"input": NaN}', '{"input": Infinity}', '{"input": "\\ud800"}', "[" * 99_999]
)
def test_body_that_json_should_not_be_is_refused(client: TestClient, selections: Selections, content: str) -> None:
    path = f"/selections/{selections.succeeded()}/render"
    response = client.post(path, content=content, headers={"Content-Type": "application/json"})
    assert response.status_code in {400, 422}
    assert response.headers["content-type"] == "application/problem+json"


def test_unknown_selection_is_not_found(client: TestClient) -> None:
    problem_of(client.post("/selections/sel_1/render", json={"input": "x"}), 404, "not-found")
