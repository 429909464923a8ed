"""Servers that answer wrong numbers without a message: each is refused at connection, by the name of the check."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lens_engine.errors import EndpointError
from tests.endpoints.double import Double, HashBehind
from tests.unit.lens_engine.model.servers.conftest import Connect

Answer = dict[str, Any]
Fault = Callable[[Answer], Answer]


def on_values(change: Callable[[str, float], float | None]) -> Fault:
    """A fault that changes each value, or drops it."""

    def fault(answer: Answer) -> Answer:
        for choice in answer["choices"]:
            (top,) = choice["logprobs"]["top_logprobs"]
            changed = {token: change(token, value) for token, value in top.items()}
            choice["logprobs"]["top_logprobs"] = [{t: v for t, v in changed.items() if v is not None}]
        return answer

    return fault


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (on_values(lambda _, __: -10.82), "check: prompts"),
        (on_values(lambda _, __: float("nan")), "check: values"),
        (on_values(lambda _, __: -9999.0), "check: values"),
        (on_values(lambda _, __: 0.5), "check: values"),
        (on_values(lambda _, __: 0.0), "check: prompts"),
        (on_values(lambda _, value: value - 20.0), "check: mass"),
        (on_values(lambda _, value: value - random.random()), "check: repeat|check: order"),
        (on_values(lambda token, value: value if token == "token_id:0" else None), "gave no log-probability of"),
        (on_values(lambda token, value: None if token.endswith("32") else value), "gave no log-probability of 32"),
        (
            lambda answer: answer | {"choices": [one | {"logprobs": None} for one in answer["choices"]]},
            "gives no log-probabilities",
        ),
        (lambda answer: answer | {"choices": answer["choices"][:-1]}, "answered 7 of 8 prompts"),
        (lambda answer: answer | {"usage": {"prompt_tokens": answer["usage"]["prompt_tokens"] - 1}}, "check: tokens"),
        (lambda answer: answer | {"model": "other"}, "check: model"),
        (
            lambda answer: {"content": "x", "usage": answer["usage"], "model": answer["model"]},
            "form that vllm does not have",
        ),
    ],
)
def test_server_with_a_fault_is_refused(connect: Connect, double: Double, fault: Fault, message: str) -> None:
    double.fault = fault
    with pytest.raises(EndpointError, match=message) as caught:
        connect()
    assert double.url in str(caught.value)


def test_scores_by_the_order_of_the_tokens_are_refused(connect: Connect, double: Double) -> None:
    class ByOrder(HashBehind):
        def __call__(self, prompts: Any, wanted: Any) -> Any:
            return super().__call__(prompts, sorted(wanted))

    double.behind = ByOrder()
    with pytest.raises(EndpointError, match="check: order"):
        connect()


@pytest.mark.parametrize("kind", ["vllm", "llama-cpp"])
def test_model_that_the_server_does_not_have_is_refused_with_those_that_it_has(connect: Connect, kind: str) -> None:
    with pytest.raises(EndpointError, match=r"has no model 'other'.*it said: it has served"):
        connect(kind=kind, model="other")


def test_noise_is_measured_and_decides_the_number_format(connect: Connect, double: Double) -> None:
    noise = np.random.default_rng(0)
    assert connect().identity.dtype == "float32"
    double.version = "0.34.0"
    double.fault = on_values(lambda _, value: value - 0.05 * float(noise.random()))
    noisy = connect()
    assert noisy.identity.dtype == "unknown"
    assert 0.001 < noisy.conformance.repeat_nats < 1  # a label's score is a sum over its tokens
    assert connect().identity == noisy.identity  # known by its scores within the noise
    assert "repeats agree to" in (noisy.identity.executor_note or "")


def test_fault_that_begins_later_ends_the_run(connect: Connect, double: Double) -> None:
    scorer = connect()
    double.fault = on_values(lambda _, __: -9999.0)
    with pytest.raises(EndpointError, match="check: values"):
        scorer.score([()], ["a"], ["x", "y"])
