"""What production reads of a selection, and of a prompt that keeps a copy of it: byte for byte, number for number."""

import json
from typing import Any, get_args

import pytest
from starlette.testclient import TestClient

from lens_engine.config import USES, FormKind, Use
from lens_engine.result import SupportExamples
from lens_engine.show.exports import FORMATS, FormatName, export_support_examples
from lens_engine.types import StopReason
from tests.formed import take_form
from tests.integration.conftest import Publish, Selections
from tests.integration.samples import TASK, make_answer, make_result, pointers_of, problem_of

AWKWARD = [
    "A fine day.",
    "{label} {{x}} %s $1",
    'quotes " and \\ and\nnewlines',
    "日本語 🎬",
    "  spaces  ",
    "\u202ebidi",
    "\x00",
]
ANSWERS: dict[Use, SupportExamples] = {
    "prompt": make_answer("prompt", "lens", 3, 0),
    "probabilities": make_answer("probabilities", "random", 4, 1),
}


def prompt_of(text: str, use: Use = "prompt") -> str:
    return ANSWERS[use].prompt + TASK.render_query(text)


def expect(selection_id: str, path: str, prompts: list[str], of: SupportExamples) -> dict[str, Any]:
    """The answer with these prompts of the inputs."""
    demonstrations = [
        {"row": one.row, "label": one.label, "similarity": None, "origin": "fixed"} for one in of.examples
    ]
    assert of.judged is not None
    return {
        "selection_id": selection_id,
        **({"name": "triage", "version": 1} if path.startswith("/prompts") else {"name": None, "version": None}),
        "partial": False,
        "form": {"kind": "fixed", "nearest": 0},
        "pool_rows": None,
        "label_words": [{"label": "positive", "word": "great"}, {"label": "negative", "word": "terrible"}],
        "prompts": [
            {"input": number, "prompt": one, "characters": len(one), "turns": None, "demonstrations": demonstrations}
            for number, one in enumerate(prompts)
        ],
        "recommended": of.recommended,
        "first": "prompt",
        "reason": of.reason,
        "expected": {"accuracy": 0.875 if of.recommended else 0.75, "ci95": [0.4, 0.98], "n": 60, "basis": "estimate"},
        "label_biases": [one.model_dump() for one in of.label_biases],
        "judged": of.judged.model_dump(mode="json"),
    }


@pytest.mark.parametrize("use", USES)
def test_prompt_is_what_was_scored(client: TestClient, selections: Selections, publish: Publish, use: Use) -> None:
    selection_id = selections.succeeded()
    path = publish(selection_id)
    rendered = client.post(f"{path}/render", json={"inputs": AWKWARD, "use": use})
    assert rendered.json() == expect(selection_id, path, [prompt_of(text, use) for text in AWKWARD], ANSWERS[use])
    if use == "prompt":
        one = client.post(f"{path}/render", json={"input": "Fun."}).json()["prompts"]
        assert [shown["prompt"] for shown in one] == [
            "a dull film at dawn It was terrible.\na warm film at dawn It was great.\nFun. It was"
        ]


def test_test_figures_come_before_an_estimate(client: TestClient, selections: Selections, publish: Publish) -> None:
    test = ANSWERS["prompt"].judged
    answers = tuple(one.model_copy(update={"test": test}) for one in ANSWERS.values())
    path = publish(selections.succeeded(make_result().model_copy(update={"support_examples": answers})))
    for shown in (client.get(f"{path}/support-examples"), client.post(f"{path}/render", json={"input": "b"})):
        assert shown.json()["expected"] == {"accuracy": 0.9, "ci95": [0.8, 0.95], "n": 60, "basis": "test"}


def test_without_classifier_there_is_a_prompt(client: TestClient, selections: Selections, publish: Publish) -> None:
    path = publish(selections.succeeded(make_result(StopReason.BUDGET, has_classifier=False)))
    best = client.post(f"{path}/render", json={"input": "b"}).json()
    assert (best["prompts"][0]["prompt"], best["partial"]) == (prompt_of("b"), True)
    problem_of(client.get(f"{path}/classifier"), 409, "no-classifier")


def test_label_words_are_those_of_the_result(client: TestClient, selections: Selections, publish: Publish) -> None:
    result = make_result()
    task = result.task.model_copy(update={"label_words": result.task.label_words[::-1]})
    path = publish(selections.succeeded(result.model_copy(update={"task": task})))
    rendered = client.post(f"{path}/render", json={"input": "b"}).json()
    assert [one["word"] for one in rendered["label_words"]] == ["terrible", "great"]


def test_instruction_stands_once_before_a_prompt(client: TestClient, selections: Selections, publish: Publish) -> None:
    """In the prompt of the support examples, and in exports."""
    said, result = "Praise {text} or blame?", make_result()
    task = result.task.model_copy(update={"instruction": said})
    answers = tuple(
        one.model_copy(update={"prompt": f"Praise {{text}} or blame?\n{one.prompt}"}) for one in result.support_examples
    )
    path = publish(selections.succeeded(result.model_copy(update={"task": task, "support_examples": answers})))
    (rendered,) = client.post(f"{path}/render", json={"input": "b"}).json()["prompts"]
    assert rendered["prompt"] == f"{said}\n{prompt_of('b')}"
    shown = client.get(f"{path}/support-examples").json()
    assert shown["task"]["instruction"] == said
    assert rendered["prompt"].startswith(shown["prompt"])
    assert client.get(f"{path}/export", params={"format": "text"}).text.startswith(shown["prompt"])


@pytest.mark.parametrize("format", get_args(FormatName))
def test_service_and_library_export_the_same_bytes(
    client: TestClient, selections: Selections, publish: Publish, format: FormatName
) -> None:
    path, params = f"{publish(selections.succeeded())}/export", {"format": format}
    response = client.get(path, params=params)
    assert response.content == export_support_examples(make_result(), format)
    assert response.headers["content-type"] == FORMATS[format].media_type
    assert response.headers["content-disposition"].endswith(f'{FORMATS[format].suffix}"')
    known = client.get(path, params=params, headers={"If-None-Match": response.headers["etag"]})
    assert (known.status_code, known.content) == (304, b"")


@pytest.mark.parametrize("kind", ["nearest", "fixed+nearest"])
def test_formats_show_fixed_form(client: TestClient, selections: Selections, publish: Publish, kind: FormKind) -> None:
    path = f"{publish(selections.succeeded(take_form(make_result(), kind)))}/export"
    assert client.get(path, params={"format": "text"}).content == export_support_examples(make_result(), "text")
    assert client.get(path, params={"format": "folder"}).status_code == 400


def test_use_picks_the_exported_support_examples(client: TestClient, selections: Selections, publish: Publish) -> None:
    path = f"{publish(selections.succeeded())}/export"
    shown = [json.loads(client.get(path, params={"use": use}).content) for use in USES]
    assert [one["support_examples"]["use"] for one in shown] == list(USES)
    assert json.loads(client.get(path).content) == shown[0]


def test_unknown_format_and_unfinished_selection_are_refused(client: TestClient, selections: Selections) -> None:
    done, queued = selections.succeeded(), selections.queued()
    refusal = problem_of(client.get(f"/selections/{done}/export", params={"format": "yaml"}), 400, "bad-request")
    assert "'openai-chat'" in refusal["detail"]
    problem_of(client.get(f"/selections/{queued}/export"), 409, "not-finished")


@pytest.mark.parametrize(
    ("body", "pointer", "details"),
    [
        ({"inputs": []}, "/inputs", None),
        ({"inputs": ["x"] * 101}, "/inputs", None),
        ({"input": "a", "prompts": "classifier"}, "/prompts", "unknown field `prompts`"),
        ({"text": "a"}, "", ["`input` (or `inputs`) is missing", "unknown field `text`; did you mean `input`?"]),
        ({}, "", ["`input` (or `inputs`) is missing"]),
        ({"input": "a", "inputs": ["b"]}, "", ["give either `input` or `inputs`, not both"]),
        ({"input": "   "}, "/input", ["`input` is blank; write a text"]),
        ({"inputs": ["a", "\u200b"]}, "/inputs/1", ["`inputs[1]` is blank; write a text"]),
        ([], "", ["the body must be an object"]),
        ({"input": "a", "inputs": [[]] * 20}, None, "more than 20 objects and lists"),
        ({"inputs": ["a, b"] * 90, **{f"field{number}": 1 for number in range(1000)}}, None, "more than 1000 fields"),
    ],
)
def test_refusal_of_a_body_says_where_and_what_to_mend(
    client: TestClient, selections: Selections, body: Any, pointer: str | None, details: list[str] | str | None
) -> None:
    response = client.post(f"/selections/{selections.succeeded()}/render", json=body)
    refusal = problem_of(response, 422, "invalid-request")
    assert pointer is None or pointers_of(refusal)[0] == pointer
    if isinstance(details, str):
        assert details in refusal["detail"]
    elif details is not None:
        assert [error["detail"] for error in refusal["errors"]] == details
        assert refusal["detail"] == "; ".join(details)
