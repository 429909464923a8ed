"""A chat API over real HTTP: values, floors, what is refused."""

import math
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import numpy as np
import pytest

from lens_engine.errors import EndpointError, InvalidVerbalizer
from lens_engine.model.limits import find_floors
from lens_engine.model.servers.address import Endpoint
from lens_engine.model.servers.scorer import EndpointScorer, open_endpoint
from lens_engine.prompt.chat import ChatTask, lift_system, read_turns
from lens_engine.prompt.template import Task
from lens_engine.types import Example
from tests.endpoints.chat_double import DATED, MODEL, WORDS, ChatDouble, HashChat, listed
from tests.endpoints.serving import serving

TASK = Task("{text} Topic: {label}.", {word.lower(): word for word in WORDS})
TEXTS = [f"message {number} of {WORDS[number % 4].lower()}" for number in range(8)]
EXAMPLES = [Example(number, text, WORDS[number % 4].lower()) for number, text in enumerate(TEXTS)]


@contextmanager
def asking(double: ChatDouble, **given: Any) -> Iterator[EndpointScorer]:
    """A scorer of a served double."""
    with serving(double):
        endpoint = Endpoint("openai-chat", f"{double.url}/v1", MODEL, **given)
        with closing(open_endpoint(endpoint, answer_bytes=None)) as scorer:
            yield scorer


def fit(scorer: EndpointScorer, task: Task = TASK) -> ChatTask:
    fitted = scorer.fit_task(task)
    assert isinstance(fitted, ChatTask)
    return fitted


def score(scorer: EndpointScorer, task: ChatTask, demonstrations: int = 2) -> Any:
    """`[texts, labels]`."""
    queries = [task.render_query(text) for text in TEXTS]
    return scorer.score([task.render_prefix(EXAMPLES[:demonstrations])], queries, task.label_spans)[0]


def test_scores_are_the_listed_tokens_that_are_a_label_word() -> None:
    double = ChatDouble()
    with asking(double) as scorer:
        task = fit(scorer)
        found = score(scorer, task)
    assert task.label_spans == WORDS
    for row, text in zip(found, TEXTS, strict=True):
        model = HashChat()(lift_system(read_turns(task.render_prompt(EXAMPLES[:2], text))))
        # " Billing" counts as "Billing"; "Bil" and "B", which other ways of writing it begin with, do not.
        billing = float(np.logaddexp(model["Billing"], model[" Billing"]))
        assert row == pytest.approx([billing, *(model[word] for word in WORDS[1:])], abs=1e-5)
    assert not find_floors(found).any()


def test_server_gets_turns_and_the_options_of_the_endpoint() -> None:
    double = ChatDouble()
    with asking(double, extra={"reasoning_effort": "none"}) as scorer:
        score(scorer, fit(scorer), 1)
        identity, facts = scorer.identity, scorer.max_prompt_tokens
    body = double.bodies[-1]
    assert [one["role"] for one in body["messages"]] == ["system", "user", "assistant", "user"]
    assert (body["model"], body["reasoning_effort"]) == (MODEL, "none")
    assert (identity.executor, facts) == ("openai-chat", 32_768)
    assert f"{DATED}, fp_1" in str(identity.executor_note)


def test_same_model_has_the_same_revision_and_another_has_not() -> None:
    def revision(double: ChatDouble, **given: Any) -> str:
        with asking(double, **given) as scorer:
            return scorer.identity.revision

    fingerprints = iter(range(10_000))
    other_machine = ChatDouble(fault=lambda answer: answer | {"system_fingerprint": f"fp_{next(fingerprints)}"})
    usual = revision(ChatDouble())
    assert revision(ChatDouble()) == usual
    # The address is no part of it, nor is the machine of the vendor.
    assert revision(other_machine) == usual
    other = ChatDouble(model=lambda messages: HashChat()([{"role": "system", "content": "x"}, *messages]))
    assert revision(other) != usual
    assert revision(ChatDouble(), answers="sampled") != usual
    assert revision(ChatDouble(), extra={"seed": 1}) != usual


@pytest.mark.parametrize(
    ("words", "spans", "written"),
    [
        ({"a": "Billing", "b": "Delivery"}, ("Billing", "Delivery"), "Billing"),
        ({"a": "Bills", "b": "Delivery"}, ("Bil", "Delivery"), "Bills"),
        ({"a": "Bond", "b": "Delivery"}, ("A", "B"), "A"),
        ({"a": "Billing", "b": "Bills"}, ("A", "B"), "A"),  # "Bil" begins both
        ({"a": "unheard", "b": "Delivery"}, ("A", "B"), "A"),
        ({"a": "Billing", "b": "Billing status"}, ("A", "B"), "A"),
    ],
    ids=["whole", "first token", "one character", "beginning of one alone", "not repeated", "word that begins another"],
)
def test_words_stay_or_become_letters(words: dict[str, str], spans: tuple[str, str], written: str) -> None:
    with asking(ChatDouble()) as scorer:
        task = fit(scorer, Task("{text} Topic: {label}.", words))
        assert task.label_spans == spans
        assert read_turns(task.render_demonstration(Example(0, "x", "a")))[1]["content"] == written
        assert scorer.fit_task(Task("{text} Topic: {label}.", words)) is scorer.fit_task(task)
        instructed = fit(scorer, Task("{text} Topic: {label}.", words, instruction="Which?"))
        assert instructed.label_spans == spans
        assert read_turns(instructed.render_query("x"))[0]["content"] == f"Which?\n{task.chat.system}"


def test_label_beyond_the_listed_tokens_has_the_smallest_of_them() -> None:
    def drop(answer: dict[str, Any]) -> dict[str, Any]:
        listed(answer)[:] = [one for one in listed(answer) if one["token"].strip() != "Account"]
        return answer

    double = ChatDouble()
    with asking(double) as scorer:
        task = fit(scorer)
        whole = score(scorer, task)
        double.fault = drop
        found = score(scorer, task)
    assert find_floors(found).tolist() == [[False, False, True, False]] * len(TEXTS)
    others = np.array([0, 1, 3])
    assert np.array_equal(found[:, others], whole[:, others])
    assert (found[:, 2] <= found.min(axis=1) + 1e-6).all()


def put(value: float, first: float | None = None) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def change(answer: dict[str, Any]) -> dict[str, Any]:
        for number, one in enumerate(listed(answer)):
            one["logprob"] = value if number or first is None else first
        return answer

    return change


FAULTS: dict[str, tuple[Callable[[dict[str, Any]], dict[str, Any]], str]] = {
    "null": (lambda answer: answer | {"choices": [{"logprobs": None}]}, 'no log-probabilities.*answers="sampled"'),
    "dropped": (lambda answer: answer | {"choices": [{}]}, 'no log-probabilities.*answers="sampled"'),
    "-9999": (put(-9999.0, first=0.0), r'gives 1 of the 20 .*\(check: values\).*answers="sampled"'),
    "positive": (put(0.5), r"gave 0.5 as a log-probability \(check: values\)"),
    "zeros": (put(0.0), r"\(check: values\)"),
    "uniform": (put(-math.log(50)), r"every prompt the same scores.*\(check: prompts\)"),
}


@pytest.mark.parametrize(("fault", "said"), FAULTS.values(), ids=FAULTS)
def test_wrong_answers_are_refused_at_connection(fault: Callable[[dict[str, Any]], dict[str, Any]], said: str) -> None:
    with serving(ChatDouble(fault=fault)) as double, pytest.raises(EndpointError, match=said):
        open_endpoint(Endpoint("openai-chat", f"{double.url}/v1", MODEL), answer_bytes=None)


def test_other_model_later_is_refused() -> None:
    double = ChatDouble()
    with asking(double) as scorer:
        task = fit(scorer)
        double.fault = lambda answer: answer | {"model": "cheaper"}
        with pytest.raises(EndpointError, match=rf"check: model.*it said: cheaper, and before {DATED}"):
            score(scorer, task)


def test_prompt_that_is_a_text_is_refused() -> None:
    with asking(ChatDouble()) as scorer, pytest.raises(EndpointError, match="this prompt is a text"):
        scorer.score([()], ["a text Topic:"], WORDS)


def test_tokens_are_estimated_by_bytes_and_turns() -> None:
    with asking(ChatDouble()) as scorer:
        task = fit(scorer)
        (demonstration,) = scorer.count_tokens([task.render_demonstration(EXAMPLES[0])])
        assert demonstration == math.ceil(len(f"{TEXTS[0]} Topic:") / 3) + math.ceil(len("Billing") / 3) + 8
        assert scorer.count_tokens(["Billing", "日本語"]) == [3, 3]


@pytest.mark.parametrize(
    ("extra", "fields"),
    [
        ({}, {"temperature": 0, "max_tokens": 1}),
        ({"temperature": None, "max_tokens": None}, {}),
        ({"temperature": 1, "max_tokens": 8, "seed": 3}, {"temperature": 1, "max_tokens": 8, "seed": 3}),
        (
            {"max_completion_tokens": 16, "top_logprobs": 5},
            {"temperature": 0, "max_completion_tokens": 16, "top_logprobs": 5},
        ),
    ],
)
def test_server_gets_the_fields_that_the_result_tells(extra: dict[str, Any], fields: dict[str, Any]) -> None:
    double = ChatDouble()
    with asking(double, extra=extra) as scorer:
        form = fit(scorer).chat
    sent = [(name, value) for name, value in double.bodies[-1].items() if name not in ("model", "messages")]
    assert dict(sent) == {"logprobs": True, "top_logprobs": 20} | fields
    assert form.fields == extra


def test_label_words_of_equal_letters_are_refused() -> None:
    many = {str(number): f"word {number}" for number in range(21)}
    with asking(ChatDouble()) as scorer, pytest.raises(InvalidVerbalizer, match="letters stand for 20 labels at most"):
        fit(scorer, Task("{text} {label}", many))
