import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from tokenizers import pre_tokenizers, processors

from lens_engine.errors import InvalidDataset, InvalidVerbalizer, NonFiniteScore, OutOfMemory, PromptTooLong
from lens_engine.model.base import ScorerIdentity
from lens_engine.model.local.executors import ExecutorName, TokenCounters, Workload
from lens_engine.model.local.scorer import SMALLEST_BUDGET, CausalLMScorer
from lens_engine.model.tokenization import SegmentTokenizer
from lens_engine.types import LabelLogProbs
from tests.tiny_models import TINY_CONTEXT, tiny_causal_lm

PREFIXES = [("fine. It was great.\n",), ()]
QUERIES = ["short. It was", "a longer one. It was"]
SPANS = [" great", " terrible"]


@dataclass
class ForgetfulExecutor:
    """Runs out of memory above `fits` tokens; otherwise answers with the budget it was given."""

    name: ClassVar[ExecutorName] = "plain"
    fits: int
    error: Callable[[], Exception]

    def run(self, work: Workload, budget: int) -> LabelLogProbs:
        if budget > self.fits:
            raise self.error()
        return np.full((len(work.prefixes), len(work.queries), len(work.trie.reads)), -budget, np.float32)

    def release(self) -> bool:
        return False


def forgetful_scorer(fits: int, error: Callable[[], Exception] = torch.OutOfMemoryError) -> CausalLMScorer:
    return scorer_over(ForgetfulExecutor(fits, error))


def scorer_over(executor: Any, tokenizer: SegmentTokenizer | None = None) -> CausalLMScorer:
    return CausalLMScorer(
        executor,
        tokenizer or SegmentTokenizer(tiny_causal_lm("llama").tokenizer.backend_tokenizer),
        ScorerIdentity("forgetful", "0", "float32", "cpu", "plain"),
        max_prompt_tokens=1000,
        token_budget=512,
        counters=TokenCounters(),
    )


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError,
        MemoryError,
        lambda: RuntimeError("[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory"),
        lambda: torch.AcceleratorError("CUDA error: out of memory\nCUDA kernel errors might be reported elsewhere"),
        lambda: RuntimeError("CUDA driver error: out of memory"),
        lambda: RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        lambda: RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
    ],
)
def test_running_out_of_memory_halves_the_budget_for_good(error: Callable[[], Exception]) -> None:
    scorer = forgetful_scorer(fits=200, error=error)

    assert (scorer.score(PREFIXES, QUERIES, SPANS) == -128).all()
    assert scorer.token_budget == 128
    assert scorer.identity.token_budget == 128
    assert scorer.counters.num_pairs == 4


class Activation:
    """Stands for the tensors of a forward."""


@dataclass
class HoardingExecutor(ForgetfulExecutor):
    """Runs out of memory with an activation in its frame; notes what is left of it when it is called next."""

    in_a_cycle: bool = False  #: whether the activation refers to itself
    activation: Callable[[], Activation | None] = lambda: None
    left: dict[str, bool] = field(default_factory=dict)  #: by call, whether the last forward's activation is alive

    def run(self, work: Workload, budget: int) -> LabelLogProbs:
        self.left["run"] = self.activation() is not None
        activation: Any = Activation()
        activation.itself = activation if self.in_a_cycle else None
        self.activation = weakref.ref(activation)
        return super().run(work, budget)

    def release(self) -> bool:
        self.left["release"] = self.activation() is not None
        return super().release()


@pytest.mark.parametrize(("in_a_cycle", "moment"), [(False, "release"), (True, "run")])
def test_activations_of_a_failed_forward_are_gone_before_the_next(in_a_cycle: bool, moment: str) -> None:
    executor = HoardingExecutor(300, torch.OutOfMemoryError, in_a_cycle)
    assert (scorer_over(executor).score(PREFIXES, QUERIES, SPANS) == -256).all()
    assert not executor.left[moment]


def test_running_out_of_memory_at_the_smallest_budget_is_final() -> None:
    with pytest.raises(OutOfMemory, match=f"even with {SMALLEST_BUDGET} tokens at a time"):
        forgetful_scorer(fits=1).score(PREFIXES, QUERIES, SPANS)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("planted"),
        torch.AcceleratorError("CUDA error: an illegal memory access was encountered"),
        RuntimeError("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx`"),
        RuntimeError("cuDNN error: CUDNN_STATUS_NOT_SUPPORTED"),
        ValueError("CUDA error: out of memory"),
    ],
)
def test_other_failures_are_not_taken_for_memory(error: Exception) -> None:
    scorer = forgetful_scorer(fits=1, error=lambda: error)
    with pytest.raises(type(error)) as raised:
        scorer.score(PREFIXES, QUERIES, SPANS)
    assert raised.value is error
    assert scorer.token_budget == 512


def test_prompt_that_just_fits_is_scored_and_a_longer_one_is_refused() -> None:
    scorer = tiny_causal_lm("llama").scorer("packed")
    text = "w" * (TINY_CONTEXT - scorer.count_tokens([" It was"])[0] - 1)
    prompt = f"{text} It was"
    assert scorer.count_tokens([prompt]) == [TINY_CONTEXT - 1]
    assert np.isfinite(scorer.score([()], [prompt], SPANS)).all()
    assert scorer.max_prompt_tokens == TINY_CONTEXT
    with pytest.raises(PromptTooLong, match=rf"exceeds the model's {TINY_CONTEXT}; shorten") as refusal:
        scorer.score([()], ["w" + prompt], SPANS)
    assert refusal.value.field == "examples"


@pytest.mark.parametrize("executor", ["packed", "cached", "plain"])
def test_nan_in_the_weights_is_refused(executor: str) -> None:
    tiny = tiny_causal_lm("llama")
    scorer = tiny.scorer(executor)
    tiny.model.model.layers[0].mlp.down_proj.weight[0, 0] = float("nan")
    with pytest.raises(NonFiniteScore, match="nan for label word ' great'"):
        scorer.score(PREFIXES, QUERIES, SPANS)


def test_spans_of_equal_tokens_are_refused() -> None:
    with pytest.raises(InvalidVerbalizer, match="' great' and ' great'"):
        tiny_causal_lm("llama").scorer("plain").score(PREFIXES, QUERIES, [" great", " great"])


def test_query_without_tokens_is_refused() -> None:
    with pytest.raises(InvalidDataset, match="query 1 "):
        tiny_causal_lm("llama").scorer("plain").score(PREFIXES, ["fine", ""], SPANS)


@pytest.mark.parametrize(("prefixes", "queries"), [([], ["x"]), ([()], []), ([], [])])
def test_nothing_to_score_gives_an_empty_array(prefixes: list[tuple[str, ...]], queries: list[str]) -> None:
    label_log_probs = tiny_causal_lm("llama").scorer("plain").score(prefixes, queries, SPANS)
    assert label_log_probs.shape == (len(prefixes), len(queries), 2)


def test_tokens_are_counted_without_special_tokens() -> None:
    assert tiny_causal_lm("llama").scorer("plain").count_tokens([" great", "x y", ""]) == [1, 3, 0]


def test_packed_feeds_the_ideal_and_plain_more() -> None:
    tiny = tiny_causal_lm("llama")
    packed, plain = tiny.scorer("packed"), tiny.scorer("plain")
    for scorer in (packed, plain):
        scorer.score([("one demonstration. It was great.\n",)] * 3, QUERIES * 4, SPANS)
    assert packed.counters.fed_tokens == packed.counters.ideal_tokens
    assert plain.counters.fed_tokens > 1.5 * plain.counters.ideal_tokens


def test_pairs_are_packed_and_counted_as_pairs() -> None:
    tiny = tiny_causal_lm("llama")
    scorer = tiny.scorer("packed")
    prefixes = [(f"demonstration {number}. It was great.\n",) for number in range(12)]
    queries = [f"text {number}. It was" for number in range(12)]

    scorer.score_pairs(prefixes, queries, SPANS)

    counters = scorer.counters
    prompts = scorer.count_tokens([*(segment for prefix in prefixes for segment in prefix), *queries])
    assert (counters.num_pairs, counters.num_forwards) == (12, 1)
    assert counters.fed_tokens == counters.ideal_tokens == sum(prompts)


def test_beginning_that_all_pairs_share_is_fed_once() -> None:
    scorer = tiny_causal_lm("llama").scorer("packed")
    shared = "a demonstration that every prompt begins with. It was great.\n" * 3
    (held,) = scorer.count_tokens([shared])
    prefixes = [(shared, f"demonstration {number}. It was great.\n") for number in range(12)]

    for calls in (1, 2):  # the packed executor holds it for the second call
        scorer.score_pairs(prefixes, ["short. It was"] * 12, SPANS)
        own = calls * sum(scorer.count_tokens([*(prefix[1] for prefix in prefixes), *["short. It was"] * 12]))
        assert scorer.counters.fed_tokens == held + own


def test_running_out_of_memory_halves_the_budget_of_pairs() -> None:
    scorer = forgetful_scorer(fits=200)

    assert (scorer.score_pairs(PREFIXES, QUERIES, SPANS) == -128).all()
    assert scorer.token_budget == 128
    assert scorer.counters.num_pairs == 2


def test_longest_pair_is_refused_and_not_the_longest_prefix_with_the_longest_query() -> None:
    scorer = tiny_causal_lm("llama").scorer("plain")
    prefixes, queries = [("w" * 400,), ("w",)], ["w", "w" * 400]

    assert np.isfinite(scorer.score_pairs(prefixes, queries, SPANS)).all()
    with pytest.raises(PromptTooLong, match=r"prefix 1: 200, query 1: 400, label word: 1"):
        scorer.score_pairs([("w" * 400,), ("w" * 200,)], queries, SPANS)


def test_pairs_that_cannot_be_scored_are_refused() -> None:
    scorer = tiny_causal_lm("llama").scorer("plain")
    assert scorer.score_pairs([], [], SPANS).shape == (0, 2)
    for prefixes, queries in ((PREFIXES, QUERIES[:1]), (PREFIXES[:1], QUERIES)):
        with pytest.raises(ValueError, match="zip"):
            scorer.score_pairs(prefixes, queries, SPANS)
    with pytest.raises(InvalidDataset, match="query 1 "):
        scorer.score_pairs(PREFIXES, ["fine", ""], SPANS)


class TokenReader(ForgetfulExecutor):
    """Keeps the prompts that it was asked."""

    def run(self, work: Workload, budget: int) -> LabelLogProbs:
        self.prompts = [prefix + query for prefix in work.prefixes for query in work.queries]
        return super().run(work, budget)


@pytest.mark.parametrize(
    "prefixes", [[(), ("one.",), ("one.", "two.")], [("one.", "two."), ("one.", "three."), ("one.",)], [()] * 3]
)
def test_prompts_of_pairs_have_the_tokens_of_each_alone(prefixes: list[tuple[str, ...]]) -> None:
    """Also with a tokenizer that puts a special token first, and a space before a first text alone."""
    backend = tiny_causal_lm("llama").tokenizer.backend_tokenizer
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    backend.post_processor = processors.TemplateProcessing("<|endoftext|> $A", None, [("<|endoftext|>", 0)])
    executor = TokenReader(10_000, MemoryError)
    scorer, queries = scorer_over(executor, SegmentTokenizer(backend)), ["a", "b", "c"]
    expected = []
    for prefix, query in zip(prefixes, queries, strict=True):
        scorer.score([prefix], [query], SPANS)
        expected += executor.prompts

    scorer.score_pairs(prefixes, queries, SPANS)

    assert executor.prompts == expected
    assert expected[0] != expected[1]
