"""Answers without probabilities: which label was said."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lens_engine.errors import EndpointError, InvalidVerbalizer
from lens_engine.language_model.open_endpoint import open_endpoint
from lens_engine.scoring.endpoints.address import Endpoint
from lens_engine.scoring.endpoints.sampled import find_said
from lens_engine.task.template import Task
from tests.endpoints.chat_double import MODEL, WORDS, ChatDouble
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
        scorer = open_endpoint(
            Endpoint("openai-chat", f"{double.url}/v1", MODEL, answers="sampled", extra={"max_completion_tokens": 900}),
            cache_dir=tmp_path,
            answer_bytes=None,
        )
        task = scorer.fit_task(TASK)
        queries = [task.render_query(f"{word} please") for word in WORDS]
        found = scorer.score([()], queries, task.label_spans)[0]
        double.fault = lambda answer: answer | {"choices": [{"message": {"content": "I cannot tell"}}]}
        none = scorer.score([()], queries[:1], task.label_spans)[0]
        double.fault = lambda answer: answer | {"choices": [{"text": "x"}]}
        with pytest.raises(EndpointError, match="form that chat completions do not have"):
            scorer.score([()], queries, task.label_spans)
        scorer.close()
    assert np.array_equal(found.argmax(axis=1), np.arange(4))
    assert found.max(axis=1) == pytest.approx([math.log(0.99)] * 4)
    assert np.ptp(none) == 0
    assert double.bodies[-1].keys() == {"model", "messages", "temperature", "max_completion_tokens"}
    assert task.label_spans == WORDS


def test_model_that_answers_no_label_is_refused(tmp_path: Path) -> None:
    def say(answer: dict[str, Any]) -> dict[str, Any]:
        return answer | {"choices": [{"message": {"content": "As a language model, I ..."}}]}

    with serving(ChatDouble(fault=say)) as double, pytest.raises(EndpointError, match="check: "):
        open_endpoint(
            Endpoint("openai-chat", f"{double.url}/v1", MODEL, answers="sampled"),
            cache_dir=tmp_path,
            answer_bytes=None,
        )


def test_words_that_differ_in_case_alone_are_refused(tmp_path: Path) -> None:
    with serving(ChatDouble()) as double:
        scorer = open_endpoint(
            Endpoint("openai-chat", f"{double.url}/v1", MODEL, answers="sampled"), cache_dir=tmp_path, answer_bytes=None
        )
        with pytest.raises(InvalidVerbalizer, match="'us' and 'Us' differ in case or punctuation alone"):
            scorer.fit_task(Task("{text} {label}", {"a": "us", "b": "Us"}))
        scorer.close()
