"""Hidden states: every executor gives those of the model itself, and reads no further than it has to."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from transformers import AttentionInterface

from lens_engine.config import BudgetOptions
from lens_engine.errors import ModelError, NonFiniteScore, PromptTooLong
from lens_engine.metering.limits import Stopped
from lens_engine.metering.meter import Meter
from lens_engine.metering.prices import Cost
from lens_engine.metering.progress import SilentListener
from lens_engine.model.base import Prefix, ScorerIdentity
from lens_engine.model.local.executors import CachedExecutor, PackedExecutor, PlainExecutor, TokenCounters
from lens_engine.model.local.executors.base import StateTap
from lens_engine.model.local.executors.layout import packed_attention
from lens_engine.model.local.executors.packed import ATTENTION_NAME
from lens_engine.model.local.scorer import CausalLMScorer
from lens_engine.model.tokenization import SegmentTokenizer
from lens_engine.testing import StatesTableScorer, TableScorer
from lens_engine.types import StopReason
from tests.tiny_models import TINY_ARCHITECTURES, TinyArchitecture, TinyCausalLM, tiny_causal_lm

PREFIX = ("a good film It was great\n", "a dull film It was terrible\n")
QUERIES = ["a film It was", "a long and rather slow film about a town It was", "good It was"]
SPANS = (" great", " terrible")


def make_scorer(
    architecture: TinyArchitecture, kind: type, context: int = 400, tiny: TinyCausalLM | None = None
) -> CausalLMScorer:
    AttentionInterface.register(ATTENTION_NAME, packed_attention)
    tiny = tiny or tiny_causal_lm(architecture)
    counters = TokenCounters()
    return CausalLMScorer(
        kind(tiny.model, counters),
        SegmentTokenizer(tiny.tokenizer.backend_tokenizer),
        ScorerIdentity("tiny", "0", "float32", "cpu", kind.name),
        max_prompt_tokens=context,
        token_budget=40,
        counters=counters,
        tap=StateTap(tiny.model),
    )


def ask_model(architecture: TinyArchitecture, prefix: Prefix, layers: Sequence[int]) -> np.ndarray:
    """The same states by transformers' own `output_hidden_states`, one prompt at a time; not the last layer."""
    tiny = tiny_causal_lm(architecture)
    tokenizer = SegmentTokenizer(tiny.tokenizer.backend_tokenizer)
    (before,) = tokenizer.encode_prefixes([prefix])
    found = []
    for query in tokenizer.encode_queries(QUERIES, is_first=not prefix):
        ids = torch.tensor([[*before, *query]])
        with torch.inference_mode():
            hidden = tiny.model(input_ids=ids, output_hidden_states=True).hidden_states
        of_query = [hidden[layer][0, len(before) :].numpy() for layer in layers]
        found.append([[one[-1], one.mean(axis=0)] for one in of_query])
    return np.array(found).transpose(1, 2, 0, 3)  # [layers, poolings, queries, size]


@pytest.mark.parametrize("prefix", [(), PREFIX], ids=["zero-shot", "after a prefix"])
@pytest.mark.parametrize("kind", [PlainExecutor, CachedExecutor, PackedExecutor])
@pytest.mark.parametrize("architecture", TINY_ARCHITECTURES)
def test_states_are_those_of_the_model(architecture: TinyArchitecture, kind: type, prefix: Prefix) -> None:
    if architecture == "gpt_neo" and kind is PackedExecutor:
        pytest.skip("packing is refused for this architecture")
    scorer = make_scorer(architecture, kind)
    assert scorer.num_layers == 2
    found = scorer.states(prefix, QUERIES, (1,))
    np.testing.assert_allclose(found, ask_model(architecture, prefix, (1,)), atol=1e-4)
    np.testing.assert_array_equal(found, scorer.states(prefix, QUERIES, (1,)))


def test_layers_come_in_the_order_asked_for() -> None:
    scorer = make_scorer("llama", PackedExecutor)
    both = scorer.states(PREFIX, QUERIES, (2, 1))
    np.testing.assert_array_equal(both[1], scorer.states(PREFIX, QUERIES, (1,))[0])
    assert not np.allclose(both[0], both[1])


@pytest.mark.parametrize("kind", [PlainExecutor, CachedExecutor, PackedExecutor])
def test_scores_and_states_leave_each_other_alone(kind: type) -> None:
    long = PREFIX * 6  # longer than the prefixes that the packed executor holds between calls
    alone = make_scorer("llama", kind).score([long], QUERIES, SPANS)
    scorer = make_scorer("llama", kind)
    states = scorer.states(long, QUERIES, (1,))
    np.testing.assert_array_equal(scorer.score([long], QUERIES, SPANS), alone)
    np.testing.assert_allclose(scorer.states(long, QUERIES, (1,)), states, atol=1e-5)


def test_layers_after_the_last_wanted_one_are_not_computed() -> None:
    tiny = tiny_causal_lm("llama")
    scorer, model = make_scorer("llama", PackedExecutor, tiny=tiny), tiny.model
    scorer.states(PREFIX, QUERIES, (1,))  # the first call also looks for a window, in all layers
    calls = list[str]()
    hook = model.model.layers[1].register_forward_hook(lambda *_: calls.append("second layer"))
    try:
        scorer.states(PREFIX, QUERIES, (1,))
        assert not calls
        scorer.states(PREFIX, QUERIES, (2,))
        assert calls
    finally:
        hook.remove()


@pytest.mark.parametrize("layers", [(), (0,), (1, 3)])
def test_layers_that_the_model_lacks_are_refused(layers: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="layer"):
        make_scorer("llama", PlainExecutor).states((), QUERIES, layers)


def test_too_long_prompt_is_refused() -> None:
    with pytest.raises(PromptTooLong):
        make_scorer("llama", PlainExecutor, context=10).states(PREFIX, QUERIES, (1,))


def test_state_that_is_no_number_is_refused() -> None:
    tiny = tiny_causal_lm("llama")
    scorer = make_scorer("llama", PlainExecutor, tiny=tiny)
    hook = tiny.model.model.layers[0].register_forward_hook(lambda _, __, output: output * float("nan"))
    try:
        with pytest.raises(NonFiniteScore, match="layer 1"):
            scorer.states((), QUERIES, (1,))
    finally:
        hook.remove()


def make_meter(scorer: TableScorer, max_pairs: int | None = None) -> Meter:
    budget = BudgetOptions(max_pairs=max_pairs)
    return Meter(scorer, SPANS, SilentListener(), budget, planned=Cost())


def test_meter_counts_each_query_as_a_pair_and_a_prefix_for_each_block() -> None:
    meter, queries = make_meter(StatesTableScorer()), [f"text {number}" for number in range(100)]
    assert meter.states(("one two ", "three "), queries, (1, 4)).shape == (2, 2, 100, 8)
    assert meter.spent == Cost(100, 2 * 3 + 2 * 100)


def test_meter_stops_before_a_block_that_the_budget_does_not_cover() -> None:
    meter = make_meter(StatesTableScorer(), max_pairs=70)
    with pytest.raises(Stopped) as stopped:
        meter.states((), [f"text {number}" for number in range(100)], (1,))
    assert stopped.value.reason is StopReason.BUDGET
    assert meter.spent.pairs == 64


def test_scorer_without_states_shows_none() -> None:
    meter = make_meter(TableScorer())
    assert meter.scorer.num_layers == 0
    with pytest.raises(ModelError, match="no hidden states"):
        meter.states((), ["text"], (1,))
