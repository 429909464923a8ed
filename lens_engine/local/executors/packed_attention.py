"""Attention over a packed row: each token attends to its prompt's prefix and to its own segment, and both are merged.

With a kernel for concatenated sequences (CUDA, 16 bits) this takes a few calls for the whole row: `EndToEnd`.
Otherwise segments are padded, and one group after another attends to its prefix: `InTurn`.
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from lens_engine.local.executors.layout import PackedLayout

# Arguments that do not change attention here: query and key already contain the positions.
_HARMLESS = frozenset(
    {"position_ids", "position_embeddings", "cache_position", "use_cache", "output_attentions", "output_hidden_states"}
)


class PackedExecutionError(RuntimeError):
    """The packed executor cannot run the model: its attention is of another kind, or is never called."""


def packed_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    *,
    packed_layout: PackedLayout,
    scaling: float | None = None,
    dropout: float = 0.0,
    sliding_window: int | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Attention of one decoder layer over a packed row; has the signature of transformers' attention interface.

    Args:
        query: `[1, heads, tokens, size]`.
        key, value: `[1, key-value heads, tokens, size]`.
        packed_layout: the layout of this forward.
        sliding_window: number of tokens that the layer sees, from the last one back. No prompt here is longer, so
            every token sees all before it.

    Returns:
        output `[1, tokens, heads, size]`, and None for the attention weights.
    """
    refuse_unknown({**kwargs, "attention_mask": attention_mask, "dropout": dropout or None})
    if not getattr(module, "is_causal", True):
        raise PackedExecutionError("the model's attention is not causal")
    layer = packed_layout.num_calls
    packed_layout.num_calls += 1
    if sliding_window is not None:
        packed_layout.windows.add(sliding_window)
    scaling = scaling if scaling is not None else query.shape[-1] ** -0.5
    return packed_layout.way.attend((query, key, value), scaling, layer), None


def refuse_unknown(arguments: Mapping[str, Any]) -> None:
    """Refuse unknown arguments that could change attention (a cap, sinks, a bias).

    Raises:
        PackedExecutionError: an argument is unknown and set; the message names it.
    """
    for name, value in arguments.items():
        if name in _HARMLESS or value is None or (name == "is_causal" and value is True):
            continue
        raise PackedExecutionError(f"attention argument {name!r} is not understood by the packed executor")
