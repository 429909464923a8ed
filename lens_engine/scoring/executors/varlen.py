"""Attention over concatenated sequences of different lengths: no padding, one kernel call for a whole row.

On CUDA in 16 bits torch has the kernel (`torch.nn.attention.varlen`, FlashAttention-2). Its signature has
changed between releases, so this module inspects the signature.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

_LARGEST_HEAD = 256
_HEAD_MULTIPLE = 8
_LEAST_CAPABILITY = (8, 0)
"""Least compute capability of the card: FlashAttention-2 needs Ampere."""


@dataclass(frozen=True, slots=True)
class Sequences:
    """The ranges of each sequence's queries and keys: sequence i has those from ends[i] to ends[i + 1]."""

    query_ends: Tensor  #: [sequences + 1] int32
    key_ends: Tensor  #: [sequences + 1] int32
    longest_query: int
    longest_key: int

    @classmethod
    def of(cls, query_lengths: Sequence[int], key_lengths: Sequence[int], device: torch.device) -> "Sequences":
        """Every key length must be positive: attention over no keys has no value."""
        return cls(
            _ends(query_lengths, device),
            _ends(key_lengths, device),
            max(query_lengths, default=0),
            max(key_lengths, default=0),
        )


AttendSequences = Callable[[Tensor, Tensor, Tensor, Sequences, float, bool], tuple[Tensor, Tensor]]
"""(query `[tokens, heads, size]`, key and value `[keys, key-value heads, size]`, sequences, scaling, causal) to
output `[tokens, heads, size]` and log-sum-exp `[tokens, heads]` float32."""


def choose_kernel(device: torch.device, dtype: torch.dtype) -> AttendSequences | None:
    """torch's kernel if it runs on this device and dtype, else None."""
    if device.type != "cuda" or dtype not in (torch.bfloat16, torch.float16):
        return None
    if torch.cuda.is_available() and torch.cuda.get_device_capability(device) < _LEAST_CAPABILITY:
        return None
    return attend_varlen if {"return_aux", "scale"} <= _parameters() else None


def takes_heads(query: Tensor, value: Tensor) -> bool:
    """Whether the kernel supports this size of heads."""
    size = query.shape[-1]
    return size == value.shape[-1] and size <= _LARGEST_HEAD and not size % _HEAD_MULTIPLE


def attend_varlen(
    query: Tensor, key: Tensor, value: Tensor, sequences: Sequences, scaling: float, causal: bool
) -> tuple[Tensor, Tensor]:
    """`AttendSequences` by torch's flash kernel."""
    from torch.nn.attention.varlen import AuxRequest, varlen_attn

    options: dict[str, Any] = {"return_aux": AuxRequest(lse=True), "scale": scaling}
    if causal:
        options |= {"window_size": (-1, 0)} if "window_size" in _parameters() else {"is_causal": True}
    if key.shape[1] != query.shape[1]:
        if "enable_gqa" in _parameters():
            options["enable_gqa"] = True
        else:
            key, value = (t.repeat_interleave(query.shape[1] // key.shape[1], dim=1) for t in (key, value))
    output, normalisers = varlen_attn(
        query.contiguous(),
        key.contiguous(),
        value.contiguous(),
        sequences.query_ends,
        sequences.key_ends,
        sequences.longest_query,
        sequences.longest_key,
        **options,
    )
    # The kernel returns [heads, tokens]; the documentation of some releases says [tokens, heads].
    return output, normalisers.T if normalisers.shape == (query.shape[1], query.shape[0]) else normalisers


def _ends(lengths: Sequence[int], device: torch.device) -> Tensor:
    return torch.tensor([0, *lengths], device=device).cumsum(0).to(torch.int32)


@cache
def _parameters() -> frozenset[str]:
    """Parameter names of torch's `varlen_attn`; empty if this torch has no such function."""
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        return frozenset()
    return frozenset(inspect.signature(varlen_attn).parameters)
