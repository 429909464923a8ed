"""Logits of a 16-bit model keep the digits that tell two labels apart."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from lens_engine.model.local.executors.layout import PackedExecutionError, packed_attention, refuse_unknown
from lens_engine.model.local.executors.rows import float32_logits, project
from lens_engine.model.local.executors.varlen import attend, attend_portable, merge_into
from tests.tiny_models import TinyCausalLM, tiny_causal_lm

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


def heads(queries: int, keys: int, *, key_value_heads: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = ((2, 4, queries, 8), (2, key_value_heads, keys, 8), (2, key_value_heads, keys, 8))
    query, key, value = (torch.randn(shape, generator=generator) for shape in shapes)
    return query, key, value


def make_mask() -> Tensor:
    mask = torch.zeros(2, 1, 6, 6).masked_fill(torch.ones(6, 6).triu(1).bool(), float("-inf"))
    mask[1, 0, 4, 1] = float("-inf")
    return mask


@pytest.mark.parametrize(
    ("queries", "keys", "masked"), [(5, 5, {"causal": True}), (5, 9, {}), (1, 3, {}), (6, 6, {"mask": make_mask()})]
)
def test_kernel_and_portable_attention_agree(queries: int, keys: int, masked: dict[str, Any]) -> None:
    expected = attend_portable(*heads(queries, keys), scaling=0.3, **masked)
    for got, wanted in zip(attend(*heads(queries, keys), scaling=0.3, **masked), expected, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5)


def test_portable_attention_is_torchs_own() -> None:
    query, key, value = heads(6, 6)
    expected = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
    output, _ = attend_portable(query, key, value, scaling=8**-0.5, causal=True)
    torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("size_of_values", [3.0, 6.0])
def test_portable_attention_in_16_bits_is_as_exact_as_torchs(dtype: torch.dtype, size_of_values: float) -> None:
    generator = torch.Generator().manual_seed(0)
    drawn = (size_of_values * torch.randn(1, 4, 64, 64, generator=generator) for _ in range(3))
    query, key, value = (tensor.to(dtype) for tensor in drawn)
    scores = (query.double() * 64**-0.5) @ key.double().mT
    expected = torch.softmax(scores, dim=-1) @ value.double()
    of_torch = nn.functional.scaled_dot_product_attention(query, key, value)

    output, normalisers = attend_portable(query, key, value, scaling=64**-0.5)

    rounding = (of_torch.double() - expected).abs().max()
    assert (output.double() - expected).abs().max() <= 2 * rounding
    torch.testing.assert_close(normalisers.double(), torch.logsumexp(scores, dim=-1), rtol=0, atol=1e-3)


def test_portable_attention_in_float16_does_not_overflow() -> None:
    query = torch.full((1, 1, 1, 64), 40.0, dtype=torch.float16)
    output, normalisers = attend_portable(query, query, query, scaling=0.125)
    assert output.isfinite().all()
    assert normalisers.item() == 64 * 40 * 40 * 0.125


@pytest.mark.parametrize("causal", [True, False])
def test_portable_attention_in_blocks_is_that_at_once(monkeypatch: pytest.MonkeyPatch, causal: bool) -> None:
    mask = torch.zeros(2, 1, 7, 7).masked_fill(torch.ones(7, 7).tril(-5).bool(), float("-inf"))
    whole = attend_portable(*heads(7, 7), scaling=0.3, causal=causal, mask=mask)
    monkeypatch.setattr("lens_engine.model.local.executors.varlen._MOST_SCORES", 2 * 4 * 7 * 3)
    for got, wanted in zip(attend_portable(*heads(7, 7), scaling=0.3, causal=causal, mask=mask), whole, strict=True):
        torch.testing.assert_close(got, wanted)


def test_merging_two_passes_is_attention_over_all_keys() -> None:
    query, key, value = heads(4, 10)
    first = attend_portable(query, key[:, :, :3], value[:, :, :3], scaling=0.3)
    second = attend_portable(query, key[:, :, 3:], value[:, :, 3:], scaling=0.3)
    whole, _ = attend_portable(query, key, value, scaling=0.3)
    merge_into(first, second)
    torch.testing.assert_close(first[0], whole, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["softcap", "s_aux", "position_bias", "attention_mask", "anything"])
def test_argument_that_is_not_understood_is_refused(name: str) -> None:
    with pytest.raises(PackedExecutionError, match=name):
        refuse_unknown({"position_ids": torch.zeros(1), name: torch.ones(1)})


def test_absent_and_harmless_arguments_are_accepted() -> None:
    refuse_unknown({"softcap": None, "position_ids": torch.zeros(1), "is_causal": True})


def test_attention_that_is_not_causal_is_refused() -> None:
    module = nn.Module()
    module.is_causal = False  # type: ignore[assignment]
    with pytest.raises(PackedExecutionError, match="not causal"):
        packed_attention(module, *heads(2, 2), packed_layout=None)  # type: ignore[arg-type]
