"""Attention over concatenated sequences of different lengths: no padding, one kernel call for many sequences.

On CUDA in 16 bits torch has the kernel: FlashAttention-2, as `aten::_flash_attention_forward`. It is the operator
under `torch.nn.attention.varlen` and `scaled_dot_product_attention`. Its positional arguments have been the same
since torch 2.10, whereas the signature of `varlen_attn` has changed in every release.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

_LARGEST_HEAD = 256
_HEAD_MULTIPLE = 8
_LEAST_CAPABILITY = (8, 0)
"""Least compute capability of the GPU: FlashAttention-2 needs Ampere."""


class UnsupportedHeads(RuntimeError):
    """The kernel does not support the size of the model's heads."""


@dataclass(frozen=True, slots=True)
class Sequences:
    """The ranges of each sequence's queries and keys: sequence i has those from ends[i] to ends[i + 1].

    Every sequence has a key: attention over no keys has no value.
    """

    query_ends: Tensor  #: [sequences + 1] int32
    key_ends: Tensor  #: [sequences + 1] int32
    longest_query: int
    longest_key: int

    @classmethod
    def of(cls, query_lengths: Sequence[int], key_lengths: Sequence[int], device: torch.device) -> "Sequences":
        """Sequences of these lengths; every key length must be positive."""
        query_ends, key_ends = (
            torch.tensor([0, *lengths]).cumsum(0).to(device, torch.int32) for lengths in (query_lengths, key_lengths)
        )
        return cls(query_ends, key_ends, max(query_lengths, default=0), max(key_lengths, default=0))


AttendSequences = Callable[[Tensor, Tensor, Tensor, Sequences, float, bool], tuple[Tensor, Tensor]]
"""(query `[tokens, heads, size]`, key and value `[keys, key-value heads, size]`, sequences, scaling, causal) to
output `[tokens, heads, size]` and log-sum-exp `[tokens, heads]` float32."""


def choose_kernel(device: torch.device, dtype: torch.dtype) -> AttendSequences | None:
    """torch's kernel if it runs on this device and dtype, else None."""
    if device.type != "cuda" or dtype not in (torch.bfloat16, torch.float16):
        return None
    if torch.version.hip is not None or not hasattr(torch.ops.aten, "_flash_attention_forward"):
        return None  # ROCm pads the log-sum-exp
    is_built = torch.backends.cuda.is_flash_attention_available()
    if torch.cuda.is_available() and not (is_built and torch.cuda.get_device_capability(device) >= _LEAST_CAPABILITY):
        return None
    return attend_varlen


def takes_heads(query: Tensor, value: Tensor) -> bool:
    """Whether the kernel supports this size of heads."""
    size = query.shape[-1]
    return size == value.shape[-1] and size <= _LARGEST_HEAD and not size % _HEAD_MULTIPLE


def attend_varlen(
    query: Tensor, key: Tensor, value: Tensor, sequences: Sequences, scaling: float, causal: bool
) -> tuple[Tensor, Tensor]:
    """`AttendSequences` by torch's flash kernel.

    Heads may share keys and values without copies. Tokens and heads may have any strides, if the entries of a head are
    neighbours.
    """
    output, normalisers, *_ = torch.ops.aten._flash_attention_forward(
        _with_neighbours(query),
        _with_neighbours(key),
        _with_neighbours(value),
        sequences.query_ends,
        sequences.key_ends,
        sequences.longest_query,
        sequences.longest_key,
        0.0,  # dropout
        causal,
        False,  # whether to return the mask, for debugging
        scale=scaling,
    )
    return output, normalisers.T  # the kernel gives [heads, tokens]


def _with_neighbours(heads: Tensor) -> Tensor:
    return heads if heads.stride(-1) == 1 else heads.contiguous()


_MOST_SCORES = 1 << 26
"""Scores that `attend_portable` computes at a time: 256 MiB. Those of a prefix of 6,000 tokens may need 20 GiB."""


# For one query, let o_A and o_B be attention over two disjoint sets of keys, with log-sum-exp l_A and
# l_B of their scores. Attention over both is o_A + w (o_B - o_A) with w = sigmoid(l_B - l_A): exact, not
# an approximation (Juravsky et al., "Hydragen", 2024, use it for a shared prefix).
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
