"""The call of llama.cpp: right values, tokens beyond the list, slots, and answers of another form."""

from typing import Any

import numpy as np
import pytest

from lens_engine.errors import EndpointError
from tests.endpoints.double import Double, HashBehind
from tests.unit.lens_engine.model.servers.conftest import Connect

PREFIX = ("It was good.\n", "It was bad.\n")
QUERIES = [f"Text {number}. It was" for number in range(20)]
SPANS = [" great", " grim"]
RIGHT = [[HashBehind().score(PREFIX, query, span) for span in SPANS] for query in QUERIES]


def test_scores_are_those_of_the_model_behind(connect: Connect, double: Double) -> None:
    scorer = connect(kind="llama-cpp")
    asked = double.num_completions
    assert np.allclose(scorer.score([PREFIX], QUERIES, SPANS)[0], RIGHT, atol=1e-5)
    assert double.num_completions - asked < 2 * 20
    assert scorer.spending.cached_tokens > 0


def test_tokens_beyond_the_list_are_asked_for_alone(connect: Connect, double: Double) -> None:
    double.listed = 20
    scorer = connect(kind="llama-cpp")
    assert np.allclose(scorer.score([PREFIX], QUERIES, SPANS)[0], RIGHT, atol=1e-5)


def test_tokens_beyond_the_list_are_asked_at_the_same_time(connect: Connect, double: Double) -> None:
    double.listed = 1
    scorer = connect(kind="llama-cpp")
    double.seconds, double.most_at_once = 0.05, 0
    scorer.score([PREFIX], QUERIES[:4], ["x", "y"])  # one read
    assert double.most_at_once >= 4


def test_a_prompt_alone_is_answered_without_a_list(connect: Connect) -> None:
    (scores,) = connect(kind="llama-cpp").score([PREFIX], QUERIES[:1], SPANS)
    assert np.allclose(scores, RIGHT[:1], atol=1e-5)


@pytest.mark.parametrize("name", ["served", "served.gguf", "/weights/served.gguf"])
def test_model_is_named_by_its_alias_or_its_file(connect: Connect, name: str) -> None:
    assert connect(kind="llama-cpp", model=name).identity.model == name


def _on_each(change: Any) -> Any:
    def fault(answer: Any) -> Any:
        for one in answer if isinstance(answer, list) else [answer]:
            one.update(change)
        return answer

    return fault


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"completion_probabilities": None}, "check: values"),
        ({"completion_probabilities": []}, "check: values"),
        ({"completion_probabilities": [{"id": 1, "probs": []}]}, "check: values"),
        ({"model": "other"}, "check: model"),
        ({"tokens_evaluated": 3}, "check: tokens"),
        ({"completion_probabilities": [{"id": 1, "logprob": -1.0, "top_logprobs": []}]}, "check: rare tokens"),
    ],
)
def test_answer_with_a_fault_is_refused(connect: Connect, double: Double, change: Any, message: str) -> None:
    double.fault = _on_each(change)
    with pytest.raises(EndpointError, match=message):
        connect(kind="llama-cpp")
