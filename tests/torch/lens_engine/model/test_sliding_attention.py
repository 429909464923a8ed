"""Sliding attention: packed up to the window, exactly as transformers defines it, and another executor beyond."""

import logging
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import AttentionInterface

from lens_engine.model.labels import build_label_trie
from lens_engine.model.local.executors import (
    CachedExecutor,
    Executor,
    PackedExecutor,
    PlainExecutor,
    TokenCounters,
    WindowedExecutor,
    Workload,
)
from lens_engine.model.local.executors.base import StateTap
from lens_engine.model.local.executors.layout import PackedExecutionError, packed_attention
from lens_engine.model.local.executors.packed import ATTENTION_NAME
from lens_engine.model.local.load import load_scorer
from lens_engine.model.tokenization import Tokens
from tests.tiny_models import TinyArchitecture, TinyCausalLM, tiny_causal_lm

WINDOW = 24
TOLERANCE = 1e-4

MODELS: dict[str, tuple[TinyArchitecture, dict[str, Any]]] = {
    # One layer of each kind, each with its own rope, and scores scaled by query_pre_attn_scalar.
    "gemma3": (
        "gemma3_text",
        {
            "layer_types": ["sliding_attention", "full_attention"],
            "query_pre_attn_scalar": 32,
            "rope_parameters": {
                "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
                "full_attention": {"rope_type": "linear", "rope_theta": 10_000.0, "factor": 2.0},
            },
        },
    ),
    "mistral": ("mistral", {}),
    "qwen2": ("qwen2", {"use_sliding_window": True, "max_window_layers": 1}),
    "qwen3": ("qwen3", {"use_sliding_window": True, "max_window_layers": 1}),
}

ONE_TOKEN_LABELS = build_label_trie((" a", " b"), ((5,), (6,)))
LONG_LABELS = build_label_trie((" a", " b c", " b d e"), ((5,), (6, 7), (6, 8, 9)))  # two tokens are fed at most

each_model = pytest.mark.parametrize("name", MODELS)


@cache
def model_of(name: str, window: int = WINDOW) -> TinyCausalLM:
    AttentionInterface.register(ATTENTION_NAME, packed_attention)
    architecture, settings = MODELS[name]
    return tiny_causal_lm(architecture, sliding_window=window, **settings)


def windowed(name: str, kind: type[Executor] = CachedExecutor) -> tuple[WindowedExecutor, TokenCounters, TokenCounters]:
    model, packed, beyond = model_of(name).model, TokenCounters(), TokenCounters()
    return WindowedExecutor(PackedExecutor(model, packed), kind(model, beyond), WINDOW), packed, beyond


def make_work(longest: int, *, labels: Any = LONG_LABELS, prefixes: tuple[int, ...] | None = None) -> Workload:
    """Several prefixes and queries of random tokens; the longest prompt feeds `longest` tokens."""
    generator = np.random.default_rng(longest)
    queries = (6, 2, 4)
    most = longest - max(queries) - max(labels.depths)

    def draw(length: int) -> Tokens:
        return tuple(generator.integers(10, 250, size=length).tolist())

    lengths = (most // 2, 0, most, 1, most) if prefixes is None else prefixes
    return Workload(tuple(draw(length) for length in lengths), tuple(draw(length) for length in queries), labels)


def ask_model(name: str, work: Workload) -> NDArray[np.float64]:
    """Log-probabilities by transformers alone, one whole prompt at a time  # [prefixes, queries, labels]."""
    found = np.zeros((len(work.prefixes), len(work.queries), len(work.trie.reads)))
    for p, prefix in enumerate(work.prefixes):
        for q, query in enumerate(work.queries):
            for label, path in enumerate(work.trie.reads):
                tokens = [token for _, token in path]
                ids = torch.tensor([[*prefix, *query, *tokens[:-1]]])
                with torch.inference_mode():
                    log_probs = model_of(name).model(input_ids=ids).logits[0].double().log_softmax(-1)
                place = len(prefix) + len(query) - 1
                found[p, q, label] = sum(float(log_probs[place + n, token]) for n, token in enumerate(tokens))
    return found


def run(executor: Executor, work: Workload, budget: int = 64) -> NDArray[np.float32]:
    with torch.inference_mode():
        return executor.run(work, budget)


@each_model
@pytest.mark.parametrize("labels", [ONE_TOKEN_LABELS, LONG_LABELS], ids=["one token", "several tokens"])
@pytest.mark.parametrize(
    ("longest", "is_packed"), [(WINDOW - 1, True), (WINDOW, True), (WINDOW + 1, False), (90, False)]
)
def test_scores_are_the_models_on_both_sides_of_windows(name: str, labels: Any, longest: int, is_packed: bool) -> None:
    work = make_work(longest, labels=labels)
    executor, packed, beyond = windowed(name)

    scores = run(executor, work)

    np.testing.assert_allclose(scores, ask_model(name, work), rtol=0, atol=TOLERANCE)
    assert (packed.num_forwards > 0, beyond.num_forwards > 0) == (is_packed, not is_packed)
    np.testing.assert_array_equal(scores, run(windowed(name)[0], work))


@each_model
def test_packing_one_token_more_than_the_window_would_be_wrong(name: str) -> None:
    """So the window of the executor is not one token too small."""
    work = make_work(WINDOW + 1, labels=ONE_TOKEN_LABELS)
    executor = PackedExecutor(model_of(name).model, TokenCounters())
    executor.__dict__["window"] = None  # as if nobody knew of it
    assert np.abs(run(executor, work) - ask_model(name, work)).max() > 10 * TOLERANCE


@each_model
def test_packed_executor_alone_refuses_a_prompt_beyond_the_window(name: str) -> None:
    executor = PackedExecutor(model_of(name).model, TokenCounters())
    assert executor.window == WINDOW
    run(executor, make_work(WINDOW))
    with pytest.raises(PackedExecutionError, match="a prompt of 25 tokens exceeds the sliding window of 24"):
        run(executor, make_work(WINDOW + 1))


@each_model
@pytest.mark.parametrize("kind", [CachedExecutor, PlainExecutor])
def test_one_long_prefix_sends_its_whole_call_beyond(name: str, kind: type[Executor]) -> None:
    work = make_work(WINDOW, prefixes=(3, 0, WINDOW + 9, 5))
    executor, packed, _ = windowed(name, kind)
    np.testing.assert_allclose(run(executor, work), ask_model(name, work), rtol=0, atol=TOLERANCE)
    assert packed.num_forwards == 0


@each_model
@pytest.mark.parametrize("longest", [WINDOW, WINDOW + 1])
def test_states_are_those_of_the_model_on_both_sides_of_the_window(name: str, longest: int) -> None:
    work = make_work(longest, labels=ONE_TOKEN_LABELS, prefixes=(longest - 6,))
    tap = StateTap(model_of(name).model)
    executor, packed, _ = windowed(name)

    with torch.inference_mode():
        found = executor.run_states(work, 64, tap, (1, 2))
        expected = PlainExecutor(model_of(name).model, TokenCounters()).run_states(work, 1, tap, (1, 2))

    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)
    assert (packed.num_forwards > 0) == (longest <= WINDOW)


@pytest.mark.parametrize(("of_layers", "smallest"), [((30, 20), 20), ((30, None), WINDOW)])
def test_smallest_window_of_config_and_layers_counts(of_layers: tuple[int | None, ...], smallest: int) -> None:
    settings: dict[str, Any] = {"use_sliding_window": True, "max_window_layers": 1, "sliding_window": WINDOW}
    model = tiny_causal_lm("qwen3", **settings).model
    for layer, window in zip(model.model.layers, of_layers, strict=True):
        layer.self_attn.sliding_window = window
    assert PackedExecutor(model, TokenCounters()).window == smallest


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"layer_types": ["chunked_attention", "full_attention"]}, "chunked_attention are neither full nor sliding"),
        ({"layer_types": ["sliding_attention"] * 2, "sliding_window": None}, "window None, which is no length"),
    ],
)
def test_layers_that_are_not_understood_are_refused(settings: dict[str, Any], reason: str) -> None:
    tiny = tiny_causal_lm("qwen3")
    for name, value in settings.items():
        setattr(tiny.model.config, name, value)
    with pytest.raises(PackedExecutionError, match=reason):
        run(PackedExecutor(tiny.model, TokenCounters()), make_work(WINDOW))


class TestScorer:
    """A whole scorer, which the self-check gives its executors. Its prompts are of 103 tokens."""

    PREFIX = ("a good film It was great\n", "a dull film It was terrible\n")
    QUERIES = ("a film It was", "a long and rather slow film about a town It was")
    SPANS = (" great", " terrible")
    WINDOW = 120

    NOTE = (
        f"packed: up to {WINDOW} tokens, the window of the model's sliding attention; calls with a longer prompt run "
        "cached"
    )

    @pytest.mark.parametrize("name", ["gemma3", "mistral", "qwen2"])
    def test_identity_says_what_runs(self, name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        folder = model_of(name, self.WINDOW).save(tmp_path / "model")
        # The second time, the outcome of the first check is found in the cache folder.
        for _ in range(2):
            scorer = load_scorer(str(folder), dtype="float32", device="cpu", name="mine", cache_dir=tmp_path)
            identity = scorer.identity
            assert (identity.executor, identity.beyond_window) == ("packed", "cached")
            assert identity.executor_note == self.NOTE
        assert identity.decisive()["beyond_window"] == "cached"
        assert not [record for record in caplog.records if record.levelno >= logging.WARNING]

    def test_long_prompts_are_a_warning_once(self, caplog: pytest.LogCaptureFixture) -> None:
        tiny = model_of("gemma3", self.WINDOW)
        scorer, plain = tiny.scorer(), tiny.scorer("plain")
        short, long = self.PREFIX, self.PREFIX * 6
        assert sum(scorer.count_tokens(long)) > self.WINDOW

        for prefixes in ([(), short], [(), long], [long]):
            expected = plain.score(prefixes, self.QUERIES, self.SPANS)
            found = scorer.score(prefixes, self.QUERIES, self.SPANS)
            np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)
            states = scorer.states(prefixes[-1], self.QUERIES, (1, 2))
            np.testing.assert_allclose(states, plain.states(prefixes[-1], self.QUERIES, (1, 2)), rtol=0, atol=TOLERANCE)

        warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
        assert len(warnings) == 1
        assert "exceeds the window of the model's sliding attention (120 tokens)" in warnings[0]

    def test_executor_asked_for_by_name_has_one_for_long_prompts_too(self) -> None:
        identity = model_of("qwen2", self.WINDOW).scorer("packed").identity
        assert (identity.executor, identity.beyond_window) == ("packed", "cached")

    def test_window_as_long_as_the_context_needs_no_other_executor(self) -> None:
        identity = model_of("mistral", 512).scorer().identity
        assert (identity.executor, identity.executor_note, identity.beyond_window) == ("packed", None, None)

    def test_window_shorter_than_the_checks_prompts_is_not_packed(self) -> None:
        identity = model_of("mistral").scorer().identity
        assert (identity.executor, identity.beyond_window) == ("cached", None)
        assert "a prompt of 103 tokens exceeds the sliding window of 24 tokens" in (identity.executor_note or "")
