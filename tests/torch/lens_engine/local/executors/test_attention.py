from typing import Any

import pytest
import torch
from torch import Tensor, nn

from lens_engine.local.executors.layout import PackedExecutionError, packed_attention, refuse_unknown
from lens_engine.local.executors.varlen import attend, attend_portable, merge_into


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
def test_portable_attention_in_16_bits_is_rounded_no_more_than_torchs(
    dtype: torch.dtype, size_of_values: float
) -> None:
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
    monkeypatch.setattr("lens_engine.local.executors.varlen._MOST_SCORES", 2 * 4 * 7 * 3)
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
