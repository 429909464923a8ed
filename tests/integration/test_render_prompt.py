"""POST /selections/{id}/render: the prompt of a production system, byte for byte."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from app.database import Database
from app.lifecycle import claims
from lens_engine.classifier.tested import ClassifierName
from lens_engine.types import Example, StopReason
from tests.integration.conftest import Selections
from tests.integration.samples import TASK, make_classifier, make_result, make_verdict, pointers_of, problem_of

AWKWARD = [
    "A fine day.",
    "{label} {{x}} %s $1",
    'quotes " and \\ and\nnewlines',
    "日本語 🎬",
    "  spaces  ",
    "\u202ebidi",
    "\x00",
]


ABOUT = {
    "partial": False,
    "label_words": [{"label": "positive", "word": "great"}, {"label": "negative", "word": "terrible"}],
}


def expected_prompt(text: str) -> str:
    demonstrations = [Example(example.row, example.text, example.label) for example in make_result().examples]
    return TASK.render_prompt(demonstrations, text)


def expected_ensemble(text: str) -> list[str]:
    return ["".join(one.demonstrations) + TASK.render_query(text) for one in make_classifier().prompts]


def answer_of(selection_id: str, *prompts: list[str], recommended: bool) -> dict[str, Any]:
    """The answer with these prompts of each input."""
    shown = [
        {"input": number, "prompt": prompt, "characters": len(prompt)}
        for number, of_input in enumerate(prompts)
        for prompt in of_input
    ]
    reason = make_verdict().sentence
    return {"selection_id": selection_id, **ABOUT, "prompts": shown, "recommended": recommended, "reason": reason}


SINGLE = {"prompts": "support_examples"}


@pytest.mark.parametrize("text", AWKWARD)
def test_prompt_is_what_was_scored(client: TestClient, selections: Selections, text: str) -> None:
    selection_id = selections.succeeded()
    response = client.post(f"/selections/{selection_id}/render", json={"input": text, **SINGLE})
    assert response.status_code == 200
    assert response.json() == answer_of(selection_id, [expected_prompt(text)], recommended=False)


@pytest.mark.parametrize("use", ["support_examples", "bag_of_words"])
def test_verdict_without_an_ensemble_renders_the_support_examples(
    use: ClassifierName, client: TestClient, selections: Selections, database: Database
) -> None:
    claim, verdict = selections.running(), make_verdict().model_copy(update={"use": use})
    with database.session_scope() as session:
        assert claims.finish(session, claim, make_result(verdict=verdict))
    rendered = client.post(f"/selections/{claim.selection_id}/render", json={"input": "b"}).json()
    assert [one["prompt"] for one in rendered["prompts"]] == [expected_prompt("b")]
    assert rendered["recommended"] is (use == "support_examples")
    shown = client.get(f"/selections/{claim.selection_id}/support-examples").json()
    assert (shown["recommended"], shown["reason"]) == (rendered["recommended"], verdict.sentence)


def test_first_prompt_reads_as_it_should(client: TestClient, selections: Selections) -> None:
    response = client.post(f"/selections/{selections.succeeded()}/render", json={"input": "Fun.", **SINGLE})
    assert response.json()["prompts"][0]["prompt"] == (
        "a dull film at dawn It was terrible.\na warm film at dawn It was great.\nFun. It was"
    )


@pytest.mark.parametrize("text", AWKWARD)
def test_recommended_prompts_are_those_of_the_classifier(client: TestClient, selections: Selections, text: str) -> None:
    selection_id = selections.succeeded()
    response = client.post(f"/selections/{selection_id}/render", json={"input": text})
    assert response.status_code == 200
    assert response.json() == answer_of(selection_id, expected_ensemble(text), recommended=True)


def test_all_prompts_of_several_inputs_follow_each_other(client: TestClient, selections: Selections) -> None:
    selection_id = selections.succeeded()
    body = {"inputs": ["b", "a", "b"]}
    response = client.post(f"/selections/{selection_id}/render", json=body)
    assert response.json() == answer_of(
        selection_id, *(expected_ensemble(text) for text in ("b", "a", "b")), recommended=True
    )


def test_result_without_classifier_renders_its_best_prompt_only(
    client: TestClient, selections: Selections, database: Database
) -> None:
    claim = selections.cancelling()
    with database.session_scope() as session:
        assert claims.finish(session, claim, make_result(StopReason.CANCELLED, has_classifier=False))
    path = f"/selections/{claim.selection_id}/render"
    best = client.post(path, json={"input": "b"}).json()
    assert (best["prompts"][0]["prompt"], best["partial"]) == (expected_prompt("b"), True)
    assert (best["recommended"], best["reason"]) == (None, None)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"input": 5}, "/input"),
        ({"inputs": []}, "/inputs"),
        ({"inputs": ["a", None]}, "/inputs/1"),
        ({"inputs": ["x"] * 101}, "/inputs"),
        ({"input": "a", "model": "b"}, "/model"),
        ({"input": "a", "prompts": "ALL"}, "/prompts"),
        (SINGLE, ""),
    ],
)
def test_bad_body_is_refused_with_its_place(
    client: TestClient, selections: Selections, body: Any, pointer: str
) -> None:
    response = client.post(f"/selections/{selections.succeeded()}/render", json=body)
    assert pointers_of(problem_of(response, 422, "invalid-request"))[0] == pointer


@pytest.mark.parametrize(
    ("body", "details"),
    [
        ({"text": "a"}, ["`input` (or `inputs`) is missing", "unknown field `text`; did you mean `input`?"]),
        ({}, ["`input` (or `inputs`) is missing"]),
        ({"input": "a", "inputs": ["b"]}, ["give either `input` or `inputs`, not both"]),
        ({"input": "   "}, ["`input` is blank; write a text"]),
        ({"input": ""}, ["`input` is blank; write a text"]),
        ({"inputs": ["a", "\u200b"]}, ["`inputs[1]` is blank; write a text"]),
        ([], ["the body must be an object"]),
    ],
)
def test_refusal_says_what_to_mend(client: TestClient, selections: Selections, body: Any, details: list[str]) -> None:
    response = client.post(f"/selections/{selections.succeeded()}/render", json=body)
    refusal = problem_of(response, 422, "invalid-request")
    assert [error["detail"] for error in refusal["errors"]] == details
    assert refusal["detail"] == "; ".join(details)


@pytest.mark.parametrize(
    "content", ["", "{", '{"input": NaN}', '{"input": Infinity}', '{"input": "\\ud800"}', "[" * 99_999]
)
def test_body_that_json_should_not_be_is_refused(client: TestClient, selections: Selections, content: str) -> None:
    path = f"/selections/{selections.succeeded()}/render"
    response = client.post(path, content=content, headers={"Content-Type": "application/json"})
    assert response.status_code in {400, 422}
    assert response.headers["content-type"] == "application/problem+json"
