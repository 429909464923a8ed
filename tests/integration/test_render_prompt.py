"""POST /selections/{id}/render: the prompt of a production system, byte for byte."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from app.lifecycle import endings
from app.lifecycle.results import SelectionOutcome
from app.store.database import Database
from lens_engine.classifier.classifier import Classifier
from lens_engine.result import SupportExamples
from lens_engine.types import StopReason
from tests.integration.conftest import Selections
from tests.integration.samples import (
    TASK,
    make_answer,
    make_bag_of_words,
    make_classifier,
    make_result,
    make_states_classifier,
    pointers_of,
    problem_of,
)

AWKWARD = [
    "A fine day.",
    "{label} {{x}} %s $1",
    'quotes " and \\ and\nnewlines',
    "日本語 🎬",
    "  spaces  ",
    "\u202ebidi",
    "\x00",
]


ABOUT: dict[str, Any] = {
    "partial": False,
    "running": False,
    "form": {"kind": "fixed", "nearest": 0},
    "pool_rows": None,
    "label_words": [{"label": "positive", "word": "great"}, {"label": "negative", "word": "terrible"}],
}


PROMPT = make_answer("prompt", "lens", 3, 0)
BIASED = make_answer("probabilities", "random_and_validation", 4, 1)
CLASSIFIER = {"prompts": "classifier"}


def expected_prompt(text: str, answer: SupportExamples = PROMPT) -> str:
    return answer.prompt + TASK.render_query(text)


def expected_prompts(text: str) -> list[str]:
    return [one.text + TASK.render_query(text) for one in make_classifier().prompts]


def answer_of(selection_id: str, *prompts: list[str], of: SupportExamples | None = None) -> dict[str, Any]:
    """The answer with these prompts of each input: those of the classifier, or of the support examples."""
    fixed = () if of is None else of.examples
    demonstrations = [{"row": one.row, "label": one.label, "similarity": None, "origin": "fixed"} for one in fixed]
    shown = [
        {
            "input": number,
            "prompt": prompt,
            "characters": len(prompt),
            "turns": None,
            "demonstrations": demonstrations,
        }
        for number, of_input in enumerate(prompts)
        for prompt in of_input
    ]
    biases = [] if of is None else [one.model_dump() for one in of.label_biases]
    path = f"/selections/{selection_id}/classifier"
    figures, shown_path, reason = ("label_probabilities", 0.75), path, make_result().verdict.sentence
    accuracy: float | None = 0.75
    if of is not None:
        assert of.best is not None
        assert of.best.test is not None
        assert of.test is not None
        figures, reason, accuracy = (of.best.name, of.best.test.accuracy), of.reason, of.test.accuracy
        shown_path = None if of.recommended else path
    best = {"name": figures[0], "accuracy": figures[1], "n": 8, "path": shown_path}
    advice = {"recommended": of is None or of.recommended, "best": best, "reason": reason, "accuracy": accuracy}
    judged = None if of is None or of.judged is None else of.judged.model_dump(mode="json")
    return {"selection_id": selection_id, **ABOUT, "label_biases": biases, "prompts": shown, "judged": judged, **advice}


@pytest.mark.parametrize("text", AWKWARD)
def test_prompt_is_what_was_scored(client: TestClient, selections: Selections, text: str) -> None:
    selection_id = selections.succeeded()
    response = client.post(f"/selections/{selection_id}/render", json={"input": text})
    assert response.status_code == 200
    assert response.json() == answer_of(selection_id, [expected_prompt(text)], of=PROMPT)


def test_use_picks_the_prompt_and_its_label_biases(client: TestClient, selections: Selections) -> None:
    selection_id = selections.succeeded()
    response = client.post(f"/selections/{selection_id}/render", json={"input": "b", "use": "probabilities"})
    assert response.json() == answer_of(selection_id, [expected_prompt("b", BIASED)], of=BIASED)


def test_first_prompt_reads_as_it_should(client: TestClient, selections: Selections) -> None:
    response = client.post(f"/selections/{selections.succeeded()}/render", json={"input": "Fun."})
    assert response.json()["prompts"][0]["prompt"] == (
        "a dull film at dawn It was terrible.\na warm film at dawn It was great.\nFun. It was"
    )


@pytest.mark.parametrize("text", AWKWARD)
def test_classifier_gives_every_prompt_of_its_own(client: TestClient, selections: Selections, text: str) -> None:
    selection_id = selections.succeeded()
    response = client.post(f"/selections/{selection_id}/render", json={"input": text, **CLASSIFIER})
    assert response.status_code == 200
    assert response.json() == answer_of(selection_id, expected_prompts(text))


def test_all_prompts_of_several_inputs_follow_each_other(client: TestClient, selections: Selections) -> None:
    selection_id = selections.succeeded()
    response = client.post(f"/selections/{selection_id}/render", json={"inputs": ["b", "a", "b"], **CLASSIFIER})
    assert response.json() == answer_of(selection_id, *(expected_prompts(text) for text in ("b", "a", "b")))


@pytest.mark.parametrize(
    ("classifier", "reads"),
    [(make_states_classifier(), "states"), (make_bag_of_words(), "bag of words")],
)
def test_classifier_that_reads_no_label_probabilities_has_no_prompt_to_send(
    client: TestClient, selections: Selections, database: Database, classifier: Classifier, reads: str
) -> None:
    claim = selections.running()
    with database.session_scope() as session:
        assert endings.finish(session, claim, SelectionOutcome(make_result(classifier=classifier)))
    path = f"/selections/{claim.job_id}/render"
    refusal = problem_of(client.post(path, json={"input": "b", **CLASSIFIER}), 409, "no-classifier")
    assert f"the classifier reads {reads}" in refusal["detail"]
    assert client.post(path, json={"input": "b"}).json()["prompts"][0]["prompt"] == expected_prompt("b")


def test_result_without_classifier_renders_its_best_prompt_only(
    client: TestClient, selections: Selections, database: Database
) -> None:
    claim = selections.cancelling()
    with database.session_scope() as session:
        assert endings.finish(session, claim, SelectionOutcome(make_result(StopReason.CANCELLED, has_classifier=False)))
    path = f"/selections/{claim.job_id}/render"
    best = client.post(path, json={"input": "b"}).json()
    assert (best["prompts"][0]["prompt"], best["partial"]) == (expected_prompt("b"), True)
    problem_of(client.post(path, json={"input": "b", **CLASSIFIER}), 409, "no-classifier")


def test_label_words_are_those_of_the_result(client: TestClient, selections: Selections, database: Database) -> None:
    claim = selections.running()
    result = make_result()
    task = result.task.model_copy(update={"label_words": result.task.label_words[::-1]})
    with database.session_scope() as session:
        assert endings.finish(session, claim, SelectionOutcome(result.model_copy(update={"task": task})))
    response = client.post(f"/selections/{claim.job_id}/render", json={"input": "b"})
    assert response.json()["label_words"] == ABOUT["label_words"][::-1]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"input": 5}, "/input"),
        ({"inputs": []}, "/inputs"),
        ({"inputs": ["a", None]}, "/inputs/1"),
        ({"inputs": ["x"] * 101}, "/inputs"),
        ({"input": "a", "model": "b"}, "/model"),
        ({"input": "a", "prompts": "ALL"}, "/prompts"),
        ({"input": "a", "use": "argmax"}, "/use"),
        (CLASSIFIER, ""),
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


def test_body_of_many_lists_is_refused_before_it_is_built(client: TestClient, selections: Selections) -> None:
    body = {"input": "a", "inputs": [[]] * 20}
    response = client.post(f"/selections/{selections.succeeded()}/render", json=body)
    assert "more than 20 objects and lists" in problem_of(response, 422, "invalid-request")["detail"]


def test_body_of_many_items_is_refused_before_it_is_built(client: TestClient, selections: Selections) -> None:
    body = {"inputs": ["a, b"] * 90, **{f"field{number}": 1 for number in range(1000)}}
    response = client.post(f"/selections/{selections.succeeded()}/render", json=body)
    assert "more than 1000 fields and items" in problem_of(response, 422, "invalid-request")["detail"]
    long = {"inputs": ["so, it goes, " * 100] * 90}
    assert client.post(f"/selections/{selections.succeeded()}/render", json=long).status_code == 200


def test_instruction_stands_once_before_the_prompt(
    client: TestClient, selections: Selections, database: Database
) -> None:
    """In the prompt of the support examples, in those of the classifier, in exports, and in what a name keeps."""
    claim, result, classifier = selections.running(), make_result(), make_classifier()
    task = result.task.model_copy(update={"instruction": "Praise {text} or blame?"})
    prompts = tuple(
        one.model_copy(update={"demonstrations": ("Praise {text} or blame?\n", *one.demonstrations)})
        for one in classifier.prompts
    )
    answers = tuple(
        one.model_copy(update={"prompt": f"Praise {{text}} or blame?\n{one.prompt}"}) for one in result.support_examples
    )
    changes = {"task": task, "prompts": prompts}
    whole = result.model_copy(
        update={
            "task": task,
            "support_examples": answers,
            "classifier": classifier.model_copy(update=changes),
        }
    )
    with database.session_scope() as session:
        assert endings.finish(session, claim, SelectionOutcome(whole))
    path = f"/selections/{claim.job_id}"
    named = client.put("/prompts/moods", json={"selection_id": claim.job_id}, headers={"If-None-Match": "*"})
    assert named.status_code == 201
    for place in (path, "/prompts/moods"):
        (rendered,) = client.post(f"{place}/render", json={"input": "b"}).json()["prompts"]
        assert rendered["prompt"] == f"Praise {{text}} or blame?\n{expected_prompt('b')}"
        shown = client.get(f"{place}/support-examples").json()
        assert shown["task"]["instruction"] == "Praise {text} or blame?"
        assert rendered["prompt"].startswith(shown["prompt"])
        assert client.get(f"{place}/export", params={"format": "text"}).text.startswith(shown["prompt"])
        several = client.post(f"{place}/render", json={"input": "b", **CLASSIFIER}).json()["prompts"]
        assert [one["prompt"] for one in several] == [
            f"Praise {{text}} or blame?\n{one}" for one in expected_prompts("b")
        ]
