"""Texts that are classified at once: by whom, what a bad text costs, and what is refused."""

import asyncio
import json
import logging
import math
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from lens_engine.config import FormKind
from lens_engine.evaluation.batches import predict_rows
from lens_engine.evaluation.table import shorten
from lens_engine.files import TextRow
from lens_engine.model.servers.address import Endpoint
from lens_engine.opening import open_model
from lens_engine.result.selection_result import classifier_of_prompt
from tests.endpoints.double import Double, HashBehind
from tests.endpoints.serving import serving
from tests.formed import take_form
from tests.integration.conftest import MakeClient, Selections
from tests.integration.samples import make_bag_of_words, make_result, problem_of
from tests.ports import reserve_port

CANARY = "zyzzyvacanary"
BLANK = "the text is blank; write a text"
BAD = {
    "": BLANK,
    " \u200b": BLANK,
    f"{CANARY}\x00": "the text holds a NUL character (U+0000); remove it, or save the file as UTF-8 if it is UTF-16",
    f"{CANARY}\ud800": "the text holds half of a surrogate pair (U+D800 to U+DFFF), which is no character; remove it",
    CANARY * 8_000: "the text is longer than 20,000 characters; shorten it",
}


def ask(client: TestClient, path: str, **body: Any) -> Any:
    return client.post(f"{path}/classify", content=json.dumps(body), headers={"Content-Type": "application/json"})


@pytest.fixture
def words(selections: Selections) -> str:
    """The path of a selection whose classifier counts words, and comes first."""
    return f"/selections/{selections.succeeded(make_result(classifier=make_bag_of_words()))}"


def test_a_bad_text_costs_no_other_counts_in_no_figure_and_is_in_no_log(
    client: TestClient, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    labels = ["positive", *["negative"] * len(BAD), "positive", None]
    inputs = ["a warm film", *BAD, f"a dull {CANARY}", "a film"]
    found = ask(client, words, inputs=inputs, labels=labels, answer_above=0.6).json()
    good = [0, len(BAD) + 1, len(BAD) + 2]
    likely = make_bag_of_words().predict([inputs[place] for place in good]).probabilities.tolist()
    answers = found["answers"]
    assert [one["input"] for one in answers] == list(range(len(inputs)))
    assert [answers[place]["probabilities"] for place in good] == [shorten(one) for one in likely]
    told = [(answers[place]["label"], answers[place]["answered"]) for place in good]
    assert told == [("positive", True), ("negative", True), (answers[-1]["label"], False)]
    assert [one["error"] for one in answers[1:-2]] == [{"code": "invalid-input", "detail": one} for one in BAD.values()]
    assert found["contender"] == {"kind": "words", "head": "bag_of_words", "form": None, "use": None, "model": None}
    log_loss = -(math.log(likely[0][0]) + math.log(likely[1][0])) / 2
    assert found["figures"] == {
        "n": 2,
        "right": 1,
        "accuracy": 0.5,
        "macro_f1": pytest.approx(2 / 3),
        "log_loss": pytest.approx(log_loss),
        "unanswered": len(BAD),
        "confusion": [[1, 1], [0, 0]],
    }
    assert CANARY not in caplog.text
    assert "/classify" in caplog.text


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/inputs"),
        ({"inputs": []}, "/inputs"),
        ({"inputs": ["x"] * 257}, "/inputs"),
        ({"inputs": CANARY}, "/inputs"),
        ({"inputs": [CANARY, 5]}, "/inputs/1"),
        ({"inputs": ["a", "b"], "labels": ["positive"]}, ""),
        ({"inputs": ["a", "b"], "labels": [None, "neutral"], "prompts": "classifier"}, "/labels/1"),
        ({"inputs": ["a"], "prompts": "classifier", "use": "prompt"}, ""),
        ({"inputs": ["a"], "prompts": "classifier", "fixed": True}, ""),
        ({"inputs": ["a"], "answer_above": 1.01}, "/answer_above"),
    ],
)
def test_bad_body_is_refused_at_its_place(client: TestClient, words: str, body: dict[str, Any], pointer: str) -> None:
    refused = problem_of(ask(client, words, **body), 422, "invalid-request")
    assert refused["errors"][0]["pointer"] == pointer
    assert CANARY not in json.dumps(refused)


def test_most_texts_are_answered_and_a_ninth_request_of_an_owner_waits(client: TestClient, words: str) -> None:
    with ExitStack() as held:
        for _ in range(8):
            held.enter_context(client.app.state.classifying.hold("local"))  # type: ignore[attr-defined]
        refused = ask(client, words, inputs=["a"], prompts="classifier")
        problem_of(refused, 429, "too-many-requests")
        assert refused.headers["retry-after"] == "1"
    assert len(ask(client, words, inputs=["a"] * 256, prompts="classifier").json()["answers"]) == 256


@pytest.mark.parametrize("kind", ["fixed", "nearest", "fixed+nearest"])
def test_a_prompt_of_any_form_is_asked_of_a_server_by_the_api_itself(
    make_client: MakeClient, selections: Selections, tmp_path: Path, kind: FormKind
) -> None:
    with serving(Double(HashBehind())) as double:
        endpoint = Endpoint("vllm", double.url, "served")
        scorer: Any = open_model(endpoint, name="ours", cache_dir=tmp_path / "own", pair_cache_bytes=None).scorer
        result = make_result() if kind == "fixed" else take_form(make_result(), kind)
        made_by = {"model": "ours", "revision": scorer.identity.revision, "device": "endpoint"}
        result = result.model_copy(update={"provenance": result.provenance.model_copy(update=made_by)}).with_digest()
        client = make_client(endpoints={"ours": endpoint}, answers_addresses=(), cache_dir=tmp_path)
        path = f"/selections/{selections.succeeded(result)}"
        texts, deadline = ["a warm film", "a dull one"], time.monotonic() + 30
        while (found := ask(client, path, inputs=texts, prompts="support_examples")).status_code == 503:
            assert (found.json()["code"], time.monotonic() < deadline) == ("model-loading", True)
            time.sleep(0.01)
        expected = predict_rows(classifier_of_prompt(result), [TextRow(text) for text in texts], scorer)
        scorer.close()
        other = result.provenance.model_copy(update={"revision": "1" * 64})
        path = f"/selections/{selections.succeeded(result.model_copy(update={'provenance': other}).with_digest())}"
        problem_of(ask(client, path, inputs=texts, prompts="support_examples"), 409, "model-mismatch")
        asyncio.run(client.app.state.answers.close())  # type: ignore[attr-defined]
    assert [one["probabilities"] for one in found.json()["answers"]] == [shorten(one.probabilities) for one in expected]
    about = found.json()["contender"]
    assert (about["kind"], about["form"]["kind"], about["model"]) == ("prompt", kind, "ours")


def test_without_a_process_for_the_model_it_says_what_to_start(make_client: MakeClient, selections: Selections) -> None:
    path = f"/selections/{selections.succeeded()}"
    changes = {"allowed_models": {"table": "table"}, "default_model": "table"}
    away = make_client(answers_addresses=(f"http://127.0.0.1:{reserve_port()}",), **changes)
    refused = ask(away, path, inputs=["a"], prompts="support_examples")
    assert "start `lens answers`" in problem_of(refused, 503, "answers-away")["detail"]
    assert refused.headers["retry-after"] == "5"
    gone = ask(
        make_client(allowed_models={"b": "b"}, default_model="b"), path, inputs=["a"], prompts="support_examples"
    )
    problem_of(gone, 409, "unknown-model")


def test_answers_of_classify_are_taken_as_they_are_by_files_and_figures(client: TestClient, words: str) -> None:
    rows = [("a warm film", "positive"), ("", "positive"), ("a dull film", "negative")]
    name, body = "/prompts/films", {"selection_id": words.rpartition("/")[2]}
    client.put(name, json=body, headers={"If-None-Match": "*"})
    answers = ask(client, name, inputs=[text for text, _ in rows]).json()["answers"]
    file = "\n".join(json.dumps({"text": text or "?", "label": label}) for text, label in rows).encode()

    def send(path: str, given: Any) -> Any:
        return client.post(f"{name}{path}", files={"texts": ("a.jsonl", file), "answers": json.dumps(given).encode()})

    written = [json.loads(line) for line in send("/table", answers).text.splitlines()]
    assert [one["label"] for one in written] == [one["label"] for one in answers]
    figures = send("/evaluations", answers).json()["result"]
    assert (figures["unanswered"], figures["quality"]["n"]) == (1, 2)
    for odd in ([2.0, -1.0], [1e308, 1e308], [0.1, 0.1], [0.4, 0.6], [1.0]):
        given = [{**answers[0], "label": "positive", "probabilities": odd}, *answers[1:]]
        for path in ("/table", "/evaluations"):
            (refusal,) = problem_of(send(path, given), 422, "invalid-request")["errors"]
            assert refusal["pointer"].startswith("/answers/0")
