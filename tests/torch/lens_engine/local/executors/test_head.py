"""Logits of a 16-bit model keep the digits that tell two labels apart."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from lens_engine.local.executors.rows import float32_logits, project
from lens_engine.testing import TinyCausalLM, tiny_causal_lm

PREFIXES = [(), ("a fine film. It was great.\n", "dull. It was terrible.\n")]
QUERIES = ["short. It was", "a much longer review. It was"]
SPANS = [" great", " terrible", " great fun"]


def in_bfloat16(architecture: Any = "llama") -> TinyCausalLM:
    tiny = tiny_causal_lm(architecture)
    tiny.model.to(torch.bfloat16)
    return tiny


def test_logits_of_a_16_bit_model_have_steps_finer_than_the_format() -> None:
    model = in_bfloat16().model
    ids = torch.tensor([[1, 2, 3]])
    with torch.inference_mode(), float32_logits(model):
        wide = model(input_ids=ids).logits
        hidden = model.model(input_ids=ids).last_hidden_state
    with torch.inference_mode():
        narrow = model(input_ids=ids).logits

    assert (wide.dtype, narrow.dtype) == (torch.float32, torch.bfloat16)
    assert (wide != wide.to(torch.bfloat16).float()).any()
    torch.testing.assert_close(wide, hidden.float() @ model.lm_head.weight.float().T)


@pytest.mark.parametrize("size", [1, 8192, 8193])
def test_projection_in_blocks_is_the_whole_projection(size: int) -> None:
    head = nn.Linear(4, size).to(torch.bfloat16)
    hidden = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    torch.testing.assert_close(project(head, hidden), head.float()(hidden.float()))


def test_this_torch_multiplies_16_bit_matrices_into_a_float32_one() -> None:
    # Shapes and arguments only: the product itself runs on CUDA alone.
    hidden, weights = (torch.empty(size, 64, device="meta", dtype=torch.float16) for size in (3, 9000))
    logits = torch.mm(hidden, weights.T, out_dtype=torch.float32)
    assert (logits.shape, logits.dtype) == ((3, 9000), torch.float32)


def test_projection_of_no_position_is_empty() -> None:
    assert project(nn.Linear(4, 9).to(torch.bfloat16), torch.empty(1, 0, 4, dtype=torch.bfloat16)).shape == (1, 0, 9)


def test_model_has_its_own_head_again_even_after_a_failure() -> None:
    model = in_bfloat16().model
    with pytest.raises(RuntimeError, match="planted"), float32_logits(model):
        raise RuntimeError("planted")
    assert "forward" not in vars(model.get_output_embeddings())


def test_float32_model_is_left_alone() -> None:
    model = tiny_causal_lm("llama").model
    with float32_logits(model):
        assert "forward" not in vars(model.get_output_embeddings())


@pytest.mark.parametrize("executor", ["packed", "cached", "plain"])
def test_every_executor_reads_float32_logits_of_a_16_bit_model(executor: str) -> None:
    label_log_probs = in_bfloat16().scorer(executor).score(PREFIXES, QUERIES, SPANS)
    as_bfloat16 = torch.from_numpy(label_log_probs).to(torch.bfloat16).float().numpy()
    reference = tiny_causal_lm("llama").scorer("plain").score(PREFIXES, QUERIES, SPANS)

    assert (label_log_probs != as_bfloat16).any()
    np.testing.assert_allclose(label_log_probs, reference, rtol=0, atol=0.3)


@pytest.mark.parametrize("executor", ["cached", "plain"])
@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_head_runs_only_where_a_row_is_read(executor: str, architecture: Any) -> None:
    tiny = tiny_causal_lm(architecture)
    given: list[int] = []
    scorer = tiny.scorer(executor)
    tiny.model.get_output_embeddings().register_forward_hook(lambda _, __, logits: given.append(logits.numel()))
    scorer.score([("a fine film. It was great.\n",)], ["x" * n for n in range(1, 9)], [" great", " terrible"])

    vocabulary = tiny.model.get_output_embeddings().out_features
    assert sum(given) == 8 * vocabulary
