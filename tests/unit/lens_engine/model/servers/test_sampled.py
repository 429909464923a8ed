"""Answers without probabilities: which label was said."""

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lens_engine.errors import EndpointError, InvalidVerbalizer
from lens_engine.model.limits import NO_LABEL, UNFINISHED, find_rows
from lens_engine.model.servers import scorer as endpoint_scorer
from lens_engine.model.servers.address import Endpoint
from lens_engine.model.servers.chat_answers import find_said
from lens_engine.model.servers.conformance import CHECK_QUESTIONS
from lens_engine.model.servers.scorer import EndpointScorer, open_endpoint
from lens_engine.model.spending import TokenPrices
from lens_engine.prompt.template import Task
from tests.endpoints.chat_double import MODEL, WORDS, ChatDouble, HashChat, Messages
from tests.endpoints.serving import serving

TASK = Task("{text} Topic: {label}.", {word.lower(): word for word in WORDS})


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("Billing", "Billing"),
        (" billing.\n", "Billing"),
        ("**New York**", "New York"),
        ("New", "New"),
        ("new - I think", "New"),
        ('"New York", because', "New York"),
        ("Billings", None),
        ("I think Billing", None),
        ("", None),
        ("...", None),
    ],
)
def test_answer_is_a_label_word_or_none(said: str, word: str | None) -> None:
    words = ["Billing", "New", "New York"]
    place = find_said(said, words)
    assert (None if place is None else words[place]) == word


@given(st.lists(st.text(st.characters(categories=["L"]), min_size=1), min_size=2, unique_by=str.casefold), st.data())
def test_every_label_word_is_found(words: list[str], data: st.DataObject) -> None:
    word = data.draw(st.sampled_from(words))
    around = data.draw(st.sampled_from(["{}", " {}.", "**{}**", "`{}`\n"]))
    assert find_said(around.format(word), words) == words.index(word)


def test_scores_tell_the_answer_and_no_more(tmp_path: Path) -> None:
    double = ChatDouble()
    with serving(double):
        scorer = connect(double, tmp_path, extra={"max_completion_tokens": 900})
        task = scorer.fit_task(TASK)
        queries = [task.render_query(f"{word} please") for word in WORDS]
        found = scorer.score([()], queries, task.label_spans)[0]
        double.fault = lambda answer: answer | {"choices": [{"message": {"content": "I cannot tell"}}]}
        none = scorer.score([()], queries[:1], task.label_spans)[0]
        double.fault = lambda answer: answer | {"choices": [{"text": "x"}]}
        with pytest.raises(EndpointError, match="form that openai-chat does not have"):
            scorer.score([()], queries, task.label_spans)
        scorer.close()
    assert np.array_equal(found.argmax(axis=1), np.arange(4))
    assert found.max(axis=1) == pytest.approx([math.log(0.99)] * 4)
    assert find_rows(none, NO_LABEL).all()
    assert double.bodies[-1].keys() == {"model", "messages", "temperature", "max_completion_tokens"}
    assert task.label_spans == WORDS


@pytest.mark.parametrize(
    "thought",
    [
        "<think>\nIs it Delivery? No.\n</think>\n\n{}",
        "Is it Delivery?</think>{}",
        "<think>a</think><think>b</think>{}",
        "<THINKING>Delivery</THINKING> {}.",
        "<seed:think>Delivery</seed:think>{}",
        "[THINK]Delivery[/THINK]{}",
        "◁think▷Delivery◁/think▷{}",
        "<|channel|>analysis<|message|>Delivery<|end|><|start|>assistant<|channel|>final<|message|>{}<|return|>",
        [{"type": "thinking", "thinking": [{"type": "text", "text": "Delivery"}]}, {"type": "text", "text": "{}"}],
    ],
)
def test_what_is_thought_is_no_answer(thought: Any, tmp_path: Path) -> None:
    def think(answer: dict[str, Any]) -> dict[str, Any]:
        message = answer["choices"][0]["message"]
        content = json.loads(json.dumps(thought).replace("{}", message["content"]))
        message |= {"content": content, "reasoning_content": "Delivery"}
        return answer

    with serving(ChatDouble(fault=think)) as double:
        scorer = connect(double, tmp_path)
        task = scorer.fit_task(TASK)
        queries = [task.render_query(f"{word} please") for word in WORDS]
        found = scorer.score([()], queries, task.label_spans)[0]
        double.fault = lambda answer: answer | {"choices": [{"message": {"content": "<think>It is Delivery"}}]}
        unfinished = scorer.score([()], queries[:1], task.label_spans)[0]
        scorer.close()
    assert found.argmax(axis=1).tolist() == [0, 1, 2, 3]
    assert found.max() == pytest.approx(math.log(0.99))
    assert find_rows(unfinished, UNFINISHED).all()


ENDLESS = r"its limit ends what it thinks.*max_completion_tokens.*reasoning_effort"


@pytest.mark.parametrize(
    ("choice", "told"),
    [
        ({"message": {"content": "<think>Well,"}, "finish_reason": "length"}, ENDLESS),
        ({"message": {"content": None, "reasoning_content": "Well,"}, "finish_reason": "length"}, ENDLESS),
        ({"message": {"content": "As a language model, I ..."}}, r"check: prompts.*max_completion_tokens"),
    ],
)
def test_model_that_answers_no_label_is_refused_with_help(choice: dict[str, Any], told: str, tmp_path: Path) -> None:
    double = ChatDouble(fault=lambda answer: answer | {"choices": [choice]})
    with serving(double), pytest.raises(EndpointError, match=told):
        connect(double, tmp_path)


def test_words_that_differ_in_case_alone_are_refused(tmp_path: Path) -> None:
    with serving(ChatDouble()) as double:
        scorer = connect(double, tmp_path)
        with pytest.raises(InvalidVerbalizer, match="'us' and 'Us' differ in case or punctuation alone"):
            scorer.fit_task(Task("{text} {label}", {"a": "us", "b": "Us"}))
        scorer.close()


@dataclass
class Fickle:
    """A model that answers the first `fickle` known prompts otherwise every second time."""

    fickle: int
    asked: Counter[str] = field(default_factory=Counter)

    def __call__(self, messages: Messages) -> Mapping[str, float]:
        question = messages[-1]["content"]
        if question not in CHECK_QUESTIONS:
            return HashChat()(messages)
        self.asked[question] += 1
        place = CHECK_QUESTIONS.index(question)
        says_no = (place + (place < self.fickle and self.asked[question] % 2 == 0)) % 2
        return {("yes", "no")[says_no]: -0.1, ("no", "yes")[says_no]: -3.0}


def connect(double: ChatDouble, folder: Path, **given: Any) -> EndpointScorer:
    endpoint = Endpoint("openai-chat", f"{double.url}/v1", MODEL, answers="sampled", **given)
    return open_endpoint(endpoint, cache_dir=folder, answer_bytes=None)


def test_model_may_answer_two_known_prompts_otherwise(tmp_path: Path) -> None:
    with serving(ChatDouble(model=Fickle(2))) as double:
        scorers = [connect(double, tmp_path) for _ in range(2)]
        for scorer in scorers:
            scorer.close()
        assert scorers[0].identity == scorers[1].identity
        assert "2 of 8 prompts left out" in (scorers[0].identity.executor_note or "")
        double.model = Fickle(3)
        with pytest.raises(EndpointError, match="check: repeat"):
            connect(double, tmp_path)


def test_two_other_answers_are_no_exchanged_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(endpoint_scorer, "CHECK_EVERY", 1)
    model = Fickle(0)
    with serving(ChatDouble(model=model)) as double:
        scorer = connect(double, tmp_path)
        queries = [scorer.fit_task(TASK).render_query("a text")]
        model.fickle = 2
        scorer.score([()], queries, WORDS)
        scorer.score([()], queries, WORDS)
        assert set(model.asked.values()) == {5}
        model.fickle = 3
        with pytest.raises(EndpointError, match="check: same model"):
            scorer.score([()], queries, WORDS)
        scorer.close()


@pytest.mark.parametrize(
    ("extra", "most"),
    [({}, 24), ({"max_tokens": 5}, 5), ({"max_completion_tokens": 900}, 900), ({"max_tokens": None}, 32_768)],
)
def test_bill_has_the_longest_answers(tmp_path: Path, extra: dict[str, Any], most: int) -> None:
    with serving(ChatDouble(fault=lambda answer: answer | {"usage": None})) as double:
        scorer = connect(double, tmp_path, extra=extra, prices=TokenPrices(input=0.0, output=1e6))
        before = scorer.spending.usd
        scorer.score([()], [scorer.fit_task(TASK).render_query("a text")], WORDS)
        scorer.close()
    assert scorer.bill(7, 100, WORDS).usd == 7 * most
    assert scorer.spending.usd - before == most  # what was reserved
