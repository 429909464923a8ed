"""Every executor gives the numbers of one prompt at a time through the plain model."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from lens_engine.model.local.scorer import CausalLMScorer
from lens_engine.prompt.template import Task
from tests.tiny_models import TINY_ARCHITECTURES, TINY_LOCAL_WINDOW, TinyArchitecture, TinyCausalLM, tiny_causal_lm

ABSOLUTE_TOLERANCE = 1e-4

PREFIXES: list[tuple[str, ...]] = [
    (),
    ("a fine film. It was great.\n",),
    ("dull and far too long for what it has to say. It was terrible.\n", "ok. It was great.\n"),
    ("x great.\n",),
    tuple(f"example number {n}, a little longer each time{' indeed' * n}. It was terrible.\n" for n in range(4)),
]
QUERIES = [
    "short. It was",
    "a much longer review, which goes on and on about the weather. It was",
    "it",
    "what a waste of time. It was",
]
SINGLE_TOKEN_SPANS = [" great", " terrible"]
MULTI_TOKEN_SPANS = [" great", " terrible", " great fun", " green", " grim", "x", "xy", "xyz"]
"""Single tokens, shared first tokens, and words that are proper prefixes of others."""

RUNS: list[tuple[TinyArchitecture, str]] = [
    (architecture, executor)
    for architecture in TINY_ARCHITECTURES
    for executor in ("packed", "cached", "plain")
    if (architecture, executor) != ("gpt_neo", "packed")
]


@cache
def score_one_prompt_at_a_time(
    architecture: TinyArchitecture,
    prefixes: tuple[tuple[str, ...], ...],
    queries: tuple[str, ...],
    label_spans: tuple[str, ...],
) -> NDArray[np.float64]:
    """An independent reference: all logits of the plain model, no engine code  # [prefixes, queries, labels]."""
    model = tiny(architecture)
    expected = np.zeros((len(prefixes), len(queries), len(label_spans)))
    for p, prefix in enumerate(prefixes):
        for q, query in enumerate(queries):
            prompt = [token for segment in (*prefix, query) for token in _tokens(model.tokenizer, segment)]
            for label, span in enumerate(label_spans):
                tokens = _tokens(model.tokenizer, span)
                with torch.no_grad():
                    logits = model.model(input_ids=torch.tensor([prompt + tokens])).logits[0]
                log_probs = logits.double().log_softmax(-1)
                expected[p, q, label] = sum(float(log_probs[len(prompt) + n - 1, one]) for n, one in enumerate(tokens))
    return expected


def _tokens(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


@cache
def tiny(architecture: TinyArchitecture) -> TinyCausalLM:
    return tiny_causal_lm(architecture)


@cache
def scorer(architecture: TinyArchitecture, executor: str) -> CausalLMScorer:
    return tiny(architecture).scorer(executor)


def assert_exact(
    architecture: TinyArchitecture,
    executor: str,
    *,
    prefixes: Sequence[tuple[str, ...]] = PREFIXES,
    queries: Sequence[str] = QUERIES,
    spans: Sequence[str],
) -> None:
    label_log_probs = scorer(architecture, executor).score(prefixes, queries, spans)
    expected = score_one_prompt_at_a_time(architecture, tuple(prefixes), tuple(queries), tuple(spans))
    assert label_log_probs.shape == expected.shape
    np.testing.assert_allclose(label_log_probs, expected, rtol=0, atol=ABSOLUTE_TOLERANCE)


@pytest.mark.parametrize(("architecture", "executor"), RUNS)
@pytest.mark.parametrize(
    ("prefixes", "spans"),
    [(PREFIXES, SINGLE_TOKEN_SPANS), (PREFIXES, MULTI_TOKEN_SPANS), ([()], MULTI_TOKEN_SPANS)],
    ids=["single tokens", "shared beginnings", "zero-shot alone"],
)
def test_labels_score_as_one_by_one(architecture: TinyArchitecture, executor: str, prefixes: Any, spans: Any) -> None:
    assert_exact(architecture, executor, prefixes=prefixes, spans=spans)


@pytest.mark.parametrize("executor", ["packed", "cached", "plain"])
def test_label_words_with_what_ends_them_score_as_one_prompt_at_a_time(executor: str) -> None:
    task = Task.for_labels(["great", "great fun", "greater"], "{text} It was {label}.")
    task = scorer("llama", executor).fit_task(task)
    assert task.label_spans == (" great.", " great fun.", " greater.")
    assert_exact("llama", executor, spans=task.label_spans)


@pytest.mark.parametrize("architecture", ["llama", "gpt2"])
def test_prefix_whose_queries_fill_several_forwards_is_fed_once(architecture: TinyArchitecture) -> None:
    queries = [f"query number {n}{' very' * (n % 9)}. It was" for n in range(72)]
    before = scorer(architecture, "packed").counters
    assert_exact(architecture, "packed", prefixes=PREFIXES[2:4], queries=queries, spans=[" great", " great fun"])
    after = scorer(architecture, "packed").counters

    assert after.num_forwards - before.num_forwards > 2
    assert after.fed_tokens - before.fed_tokens == after.ideal_tokens - before.ideal_tokens


@pytest.mark.parametrize("architecture", TINY_ARCHITECTURES)
def test_a_prompts_beginning_matters_to_its_end(architecture: TinyArchitecture) -> None:
    """Otherwise the tests above could not tell a lost prefix."""
    expected = score_one_prompt_at_a_time(architecture, tuple(PREFIXES), tuple(QUERIES), tuple(SINGLE_TOKEN_SPANS))
    assert np.ptp(expected, axis=0).min() > 0.1


def test_gpt_neo_with_a_window_shorter_than_the_pack_is_not_packed() -> None:
    neo = scorer("gpt_neo", "auto")
    assert neo.identity.executor == "cached"
    assert sum(neo.count_tokens(PREFIXES[2])) > TINY_LOCAL_WINDOW
    assert_exact("gpt_neo", "auto", spans=SINGLE_TOKEN_SPANS)


@pytest.mark.parametrize("architecture", ["gpt2", "llama", "qwen2", "qwen3"])
def test_full_attention_architectures_are_packed(architecture: TinyArchitecture) -> None:
    assert scorer(architecture, "auto").identity.executor == "packed"


LONG = "what a long and winding film it was, with a great many words about nothing. It was terrible.\n"
"""With its copies a beginning that the packed executor holds between calls."""

PAIRED_PREFIXES: dict[str, list[tuple[str, ...]]] = {
    "nothing shared": [*PREFIXES[1:], *PREFIXES[:2]],
    "long beginning": [(LONG, LONG, *prefix) for prefix in PREFIXES],
    "all shared": [PREFIXES[2]] * 2,
    "one pair": [PREFIXES[2]],
    "zero-shot": [(), ()],
}


PAIRED_RUNS = [
    *((*run, shared) for run in RUNS for shared in ("nothing shared", "long beginning")),
    *(("llama", executor, shared) for executor in ("packed", "cached", "plain") for shared in [*PAIRED_PREFIXES][2:]),
]


@pytest.mark.parametrize(("architecture", "executor", "shared"), PAIRED_RUNS)
def test_each_query_after_its_own_prefix_scores_as_alone_and_as_one_prompt_at_a_time(
    architecture: TinyArchitecture, executor: str, shared: str
) -> None:
    prefixes = PAIRED_PREFIXES[shared]
    queries = [QUERIES[place % len(QUERIES)] + "?" * place for place in range(len(prefixes))]
    pairs, spans = [*zip(prefixes, queries, strict=True)], tuple(MULTI_TOKEN_SPANS)
    of_one = scorer(architecture, executor)

    found = of_one.score_pairs(prefixes, queries, spans)

    alone = [of_one.score([prefix], [query], spans)[0, 0] for prefix, query in pairs]
    expected = [score_one_prompt_at_a_time(architecture, (p,), (q,), spans)[0, 0] for p, q in pairs]
    np.testing.assert_allclose(found, alone, rtol=0, atol=ABSOLUTE_TOLERANCE)
    np.testing.assert_allclose(found, expected, rtol=0, atol=ABSOLUTE_TOLERANCE)


@pytest.mark.parametrize("executor", ["packed", "cached", "plain"])
def test_same_call_gives_same_bits(executor: str) -> None:
    first = scorer("llama", executor).score(PREFIXES, QUERIES, MULTI_TOKEN_SPANS)
    again = tiny_causal_lm("llama").scorer(executor).score(PREFIXES, QUERIES, MULTI_TOKEN_SPANS)
    np.testing.assert_array_equal(first, again)
