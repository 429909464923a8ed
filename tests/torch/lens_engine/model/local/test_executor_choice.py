"""Architectures on which packing would be silently wrong run another way."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM

from lens_engine.errors import InvalidConfig, ModelError
from lens_engine.model.local.executor_choice import disagreement, make_check_workload, run_check
from lens_engine.model.local.executors import PackedExecutor, PlainExecutor, TokenCounters
from lens_engine.model.local.executors.layout import PackedExecutionError
from lens_engine.model.local.load import load_scorer
from tests.tiny_models import TINY_CONTEXT, TinyCausalLM, tiny_causal_lm

PREFIXES = [(), ("a fine film. It was great.\n", "dull. It was terrible.\n")]
QUERIES = ["short. It was", "a much longer review. It was"]
SPANS = [" great", " terrible", " great fun"]


class WindowByIndex(nn.Module):
    """Wraps a model's attention output so that it depends on the place in the row, as windows by index do."""

    def __init__(self, projection: nn.Module) -> None:
        super().__init__()
        self.projection = projection

    def forward(self, hidden: Tensor) -> Tensor:
        place = torch.arange(hidden.shape[1], dtype=hidden.dtype).view(1, -1, 1)
        output: Tensor = self.projection(hidden * (1 + 0.05 * place))
        return output


def test_model_that_mixes_tokens_by_index_is_caught_by_the_self_check() -> None:
    tiny = tiny_causal_lm("llama")
    attention: Any = tiny.model.model.layers[1].self_attn
    attention.o_proj = WindowByIndex(attention.o_proj)

    # Both shared ways restart the index, so only whole prompts are right.
    assert tiny.scorer().identity.executor == "plain"
    with pytest.raises(ModelError, match="packed: log-probabilities differ by"):
        tiny.scorer("packed")


def test_refused_executor_is_a_warning_and_a_note(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    windowed = {"layer_types": ["full_attention", "sliding_attention"], "use_sliding_window": True, "sliding_window": 8}
    folder = tiny_causal_lm("qwen2", **windowed).save(tmp_path / "model")
    reason = "packed: PackedExecutionError: a prompt of 103 tokens exceeds the sliding window of 8 tokens"

    # The second time, the outcome of the first check is found in the cache folder.
    for _ in range(2):
        caplog.clear()
        identity = load_scorer(str(folder), dtype="float32", device="cpu", name="mine", cache_dir=tmp_path).identity
        assert (identity.executor, identity.executor_note) == ("cached", reason)
        assert caplog.record_tuples == [
            ("lens_engine.model.local.load", logging.WARNING, f"mine runs slower, with the executor cached: {reason}")
        ]


@pytest.mark.parametrize("executor", ["auto", "cached"])
def test_executor_that_is_fastest_or_asked_for_has_no_note(executor: str, caplog: pytest.LogCaptureFixture) -> None:
    assert tiny_causal_lm("llama").scorer(executor).identity.executor_note is None
    assert not caplog.records


def test_architecture_without_attention_functions_says_so() -> None:
    with pytest.raises(ModelError, match="does not look up its attention function"):
        tiny_causal_lm("gpt_neo").scorer("packed")


def test_packed_run_gives_the_model_its_own_attention_back() -> None:
    tiny = tiny_causal_lm("llama")
    before = tiny.model.config._attn_implementation
    tiny.scorer("packed").score(PREFIXES, QUERIES, SPANS)
    assert tiny.model.config._attn_implementation == before


def test_failed_packed_run_gives_the_model_its_own_attention_back() -> None:
    tiny = tiny_causal_lm("llama", num_hidden_layers=0)
    before = tiny.model.config._attn_implementation
    with pytest.raises(PackedExecutionError):
        run_check(PackedExecutor(tiny.model, TokenCounters()), check_workload(tiny))
    assert tiny.model.config._attn_implementation == before


def test_one_pack_of_the_self_check_is_longer_than_gpt_neos_window() -> None:
    counters = TokenCounters()
    tiny = tiny_causal_lm("llama")
    run_check(PackedExecutor(tiny.model, counters), check_workload(tiny))
    assert counters.num_forwards == 1
    assert counters.fed_tokens > 256


def test_non_finite_numbers_disagree() -> None:
    tiny = tiny_causal_lm("llama")
    good = run_check(PlainExecutor(tiny.model, TokenCounters()), check_workload(tiny))
    bad = np.where(good == good[0, 0, 0], np.float32("nan"), good)
    assert disagreement(good, good) == 0
    assert disagreement(bad, bad) == float("inf")


def test_unknown_executor_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="'fastest' is not one of auto, packed, cached, plain"):
        tiny_causal_lm("llama").scorer("fastest")


def check_workload(tiny: TinyCausalLM) -> Any:
    return make_check_workload(tiny.model.config.vocab_size, tiny.model.config.max_position_embeddings)


def composite_model(settings: dict[str, Any]) -> Any:
    """A model that sees images too: the sizes of its language part stand in `text_config` alone."""
    vision = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = AutoConfig.for_model(
        "gemma3",
        text_config={**tiny_causal_lm("llama").model.config.to_dict(), "model_type": "gemma3_text", **settings},
        vision_config={**vision, "image_size": 28, "patch_size": 14},
        mm_tokens_per_image=4,
    )
    assert not hasattr(config, "vocab_size")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return AutoModelForCausalLM.from_config(config).eval()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(("kind", "beyond"), [("full_attention", None), ("sliding_attention", "cached")])
def test_composite_model_is_known_by_its_language_part(kind: str, beyond: str | None) -> None:
    tokenizer = tiny_causal_lm("llama").tokenizer
    # The window is longer than the self-check's pack: only the layers tell it.
    tiny = TinyCausalLM(composite_model({"layer_types": [kind] * 2, "sliding_window": 400}), tokenizer)

    scorer = tiny.scorer()

    identity = scorer.identity
    assert (identity.executor, identity.beyond_window, scorer.max_prompt_tokens) == ("packed", beyond, TINY_CONTEXT)
    plain = tiny.scorer("plain").score(PREFIXES, QUERIES, SPANS)
    np.testing.assert_allclose(scorer.score(PREFIXES, QUERIES, SPANS), plain, rtol=0, atol=1e-4)
