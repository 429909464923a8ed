"""Softmax attention that also returns the log-sum-exp of its scores, so that passes over different keys can be merged.

For one query, let o_A and o_B be attention over two disjoint sets of keys, with log-sum-exp l_A and
l_B of their scores. Attention over both is o_A + w (o_B - o_A) with w = sigmoid(l_B - l_A): exact, not
an approximation (Juravsky et al., "Hydragen", 2024, use it for a shared prefix).
"""

import torch
from torch import Tensor

_MOST_SCORES = 1 << 26
"""Scores that `attend_portable` computes at a time: 256 MiB. Those of a prefix of 6,000 tokens may need 20 GiB."""


def attend(
    query: Tensor, key: Tensor, value: Tensor, *, scaling: float, causal: bool = False, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Attention and the log-sum-exp of its scores.

    Args:
        query: `[batch, heads, queries, size]`.
        key, value: `[batch, key-value heads, keys, size]`; `heads` is a multiple of `key-value heads`.
        scaling: factor by which the scores are multiplied.
        causal: query i sees keys 0 to i.
        mask: `[batch, 1, queries, keys]`, added to the scores; every query must see at least one key.

    Returns:
        output `[batch, heads, queries, size]` in the query's dtype, log-sum-exp `[batch, heads, queries]` in float32.
    """
    if query.device.type == "cpu" and query.shape[-1] == value.shape[-1]:
        return _attend_flash_cpu(query, key, value, scaling, causal, mask)
    return attend_portable(query, key, value, scaling=scaling, causal=causal, mask=mask)


def attend_portable(
    query: Tensor, key: Tensor, value: Tensor, *, scaling: float, causal: bool = False, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """`attend` in plain operations, for devices without a kernel that returns the log-sum-exp.

    Scores are in float32 from the first product on: in bfloat16 a product of 700 is rounded by 2, and in float16 one
    above 65,504 is infinite. Queries are taken in blocks, so that the memory for the scores is bounded.
    """
    group = query.shape[1] // key.shape[1]
    key, value = (tensor.repeat_interleave(group, dim=1) for tensor in (key, value))
    key = key.float().transpose(-1, -2)
    num_queries, num_keys = query.shape[2], key.shape[-1]
    block = max(1, _MOST_SCORES // max(1, key.shape[0] * key.shape[1] * num_keys))
    outputs, normalisers = [], []
    for start in range(0, max(1, num_queries), block):
        rows = slice(start, start + block)
        scores = (query[:, :, rows].float() * scaling) @ key  # [batch, heads, queries of the block, keys]
        if causal:
            places = torch.arange(max(num_queries, num_keys), device=key.device)
            hidden = places[:num_keys] > places[:num_queries][rows].unsqueeze(-1)
            scores = scores.masked_fill(hidden, float("-inf"))
        if mask is not None:
            scores = scores + mask[:, :, rows].float()
        normaliser = torch.logsumexp(scores, dim=-1)
        weights = torch.exp(scores - normaliser.unsqueeze(-1))
        outputs.append(weights.to(value.dtype) @ value)
        normalisers.append(normaliser)
    return torch.cat(outputs, dim=2), torch.cat(normalisers, dim=2)


def merge_into(own: tuple[Tensor, Tensor], other: tuple[Tensor, Tensor]) -> None:
    """Attention over the keys of both passes, written into the output of `own`; `[..., size]` and `[...]` each."""
    own[0].lerp_(other[0], torch.sigmoid(other[1] - own[1]).unsqueeze(-1).to(own[0].dtype))


def _attend_flash_cpu(
    query: Tensor, key: Tensor, value: Tensor, scaling: float, causal: bool, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    """torch's private CPU kernel of scaled_dot_product_attention. No other function calls it."""
    kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
    output, normalisers = kernel(query, key, value, 0.0, causal, attn_mask=mask, scale=scaling)
    return output, normalisers
