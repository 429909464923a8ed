"""Long prefixes are fed once for several calls, and change no bit."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from lens_engine.model.local.executors.in_turn import KeyValues
from lens_engine.model.local.executors.layout import HeldPrefixes
from lens_engine.model.local.scorer import CausalLMScorer
from tests.tiny_models import TinyArchitecture, tiny_causal_lm

LONG = tuple(f"Number {index} of a row of films, none of them short. It was great.\n" for index in range(6))
PREFIXES = [LONG, ("a fine film. It was great.\n",), LONG[::-1], ()]
QUERIES = [f"{'long ' * length}film. It was" for length in (1, 9, 4, 0, 7)]
SPANS = [" great", " terrible", " great fun"]


def packed_scorer(architecture: TinyArchitecture = "llama", dtype: torch.dtype = torch.float32) -> CausalLMScorer:
    tiny = tiny_causal_lm(architecture)
    tiny.model.to(dtype)
    return tiny.scorer("packed")


def fed_by(scorer: CausalLMScorer, prefixes: list[tuple[str, ...]], queries: list[str]) -> int:
    before = scorer.counters.fed_tokens
    scorer.score(prefixes, queries, SPANS)
    return scorer.counters.fed_tokens - before


@pytest.mark.parametrize("architecture", ["gpt2", "llama", "qwen3"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_held_prefixes_give_the_same_bits_near_plain_ones(architecture: TinyArchitecture, dtype: torch.dtype) -> None:
    scorer = packed_scorer(architecture, dtype)
    scorer.score(PREFIXES, QUERIES[:2], SPANS)

    held = scorer.score(PREFIXES, QUERIES, SPANS)

    fresh = packed_scorer(architecture, dtype).score(PREFIXES, QUERIES, SPANS)
    np.testing.assert_array_equal(held, fresh)
    if dtype == torch.float32:
        plain = tiny_causal_lm(architecture).scorer("plain").score(PREFIXES, QUERIES, SPANS)
        np.testing.assert_allclose(held, plain, rtol=0, atol=1e-4)


def test_long_prefix_is_fed_once_for_two_calls() -> None:
    scorer = packed_scorer()
    first, second = fed_by(scorer, PREFIXES, QUERIES), fed_by(scorer, PREFIXES, QUERIES)
    assert first - second == sum(sum(scorer.count_tokens(prefix)) for prefix in (LONG, LONG[::-1]))


@pytest.mark.parametrize("prefix", [LONG, LONG[:1]], ids=["long", "short"])
def test_lone_prefix_is_fed_once_with_the_bits_of_a_fresh_scorer(prefix: tuple[str, ...]) -> None:
    scorer = packed_scorer()
    tokens, query = sum(scorer.count_tokens(prefix)), QUERIES[0]
    fed = dict.fromkeys(("layer 1", "layer 2", "layer 1 again", "scores", "scores again", "layer 2 again"), 0)
    for call in fed:
        before = scorer.counters.fed_tokens
        if call.startswith("scores"):
            found = scorer.score([prefix], [query], SPANS)
            fresh = packed_scorer().score([prefix], [query], SPANS)
        else:
            layers = (int(call[6]),)
            found, fresh = (one.states(prefix, [query], layers) for one in (scorer, packed_scorer()))
        np.testing.assert_array_equal(found, fresh)
        fed[call] = scorer.counters.fed_tokens - before
    assert [call for call, number in fed.items() if number >= tokens] == ["layer 1", "layer 2", "scores"]


def test_a_released_scorer_feeds_everything_again() -> None:
    scorer = packed_scorer()
    everything = fed_by(scorer, PREFIXES, QUERIES)
    scorer.release()
    assert fed_by(scorer, PREFIXES, QUERIES) == everything


def test_running_out_of_memory_lets_the_prefixes_go() -> None:
    scorer = packed_scorer()
    everything = fed_by(scorer, PREFIXES, QUERIES)
    executor: Any = scorer._executor
    model = executor._model

    def fail(*_: object, **__: object) -> None:
        model.forward = forward
        raise torch.OutOfMemoryError

    forward, model.forward = model.forward, fail
    budget = scorer.token_budget
    assert fed_by(scorer, PREFIXES, QUERIES) == everything
    assert scorer.token_budget == budget, "what was held made room enough"


def key_values(num_floats: int) -> KeyValues:
    half: Tensor = torch.zeros(num_floats // 2)
    return {0: (half, half)}


def test_prefix_asked_for_longest_ago_goes_first() -> None:
    held = HeldPrefixes(max_bytes=4 * 20)
    held.put((1,), key_values(10))
    held.put((2,), key_values(10))
    assert held.get((1,)) is not None
    held.put((3,), key_values(10))

    assert held.get((2,)) is None
    assert held.get((1,)) is not None
    assert held.num_bytes == 4 * 20


def test_prefix_larger_than_all_room_is_not_held() -> None:
    held = HeldPrefixes(max_bytes=4 * 20)
    held.put((1,), key_values(10))
    held.put((2,), key_values(22))
    assert held.get((2,)) is None
    assert held.get((1,)) is not None


def test_prefix_that_is_held_is_counted_once() -> None:
    held = HeldPrefixes(max_bytes=4 * 20)
    for _ in range(3):
        held.put((1,), key_values(10))
    assert held.num_bytes == 4 * 10
    held.clear()
    assert (held.get((1,)), held.num_bytes) == (None, 0)
