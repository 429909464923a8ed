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
