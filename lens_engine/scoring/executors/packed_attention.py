"""Attention over a packed row: each token attends to its prompt's prefix and to its own segment, and both are merged.

With a kernel for concatenated sequences (CUDA, 16 bits) this takes two calls for the whole row. Otherwise
segments are padded in buckets of similar length, and one group after another attends to its prefix.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from lens_engine.scoring.executors.attention import attend, merge
from lens_engine.scoring.executors.layout import EndToEnd, GroupSpan, PackedLayout
from lens_engine.scoring.executors.varlen import takes_heads

Heads = tuple[Tensor, Tensor, Tensor]
"""Query, key and value, as the model gives them."""

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
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Attention of one decoder layer over a packed row; has the signature of transformers' attention interface.

    Args:
        query: `[1, heads, tokens, size]`.
        key, value: `[1, key-value heads, tokens, size]`.
        packed_layout: the layout of this forward.

    Returns:
        output `[1, tokens, heads, size]`, and None for the attention weights.
    """
    refuse_unknown({**kwargs, "attention_mask": attention_mask, "dropout": dropout or None})
    if not getattr(module, "is_causal", True):
        raise PackedExecutionError("the model's attention is not causal")
    layer = packed_layout.num_calls
    packed_layout.num_calls += 1
    scaling = scaling if scaling is not None else query.shape[-1] ** -0.5
    heads = (query, key, value)
    if packed_layout.end_to_end is not None and takes_heads(query, value):
        return _attend_end_to_end(heads, packed_layout, packed_layout.end_to_end, scaling, layer), None
    return _attend_in_turn(heads, packed_layout, scaling, layer), None


def _attend_in_turn(heads: Heads, packed_layout: PackedLayout, scaling: float, layer: int) -> Tensor:
    """Attention of one group after another  # [1, tokens, heads, size]."""
    query, _, value = heads
    output = torch.empty(*query.shape[:3], value.shape[-1], dtype=value.dtype, device=value.device).transpose(1, 2)
    own = _attend_own_segments(heads, packed_layout, scaling) if packed_layout.buckets else None
    for group in packed_layout.groups:
        prefix = _prefix_of(group, heads, layer)
        if group.prefix_start is not None and prefix is not None:
            span = slice(group.prefix_start, group.prefix_start + group.prefix_length)
            output[:, span] = attend(query[:, :, span], *prefix, scaling=scaling, causal=True)[0].transpose(1, 2)
        if own is not None and group.num_suffix_tokens:
            output[:, group.suffix_start : group.suffix_end] = _attend_suffixes(group, own, query, prefix, scaling)
    return output


def refuse_unknown(arguments: Mapping[str, Any]) -> None:
    """Refuse unknown arguments that could change attention (a window, a cap, sinks, a bias).

    Raises:
        PackedExecutionError: an argument is unknown and set; the message names it.
    """
    for name, value in arguments.items():
        if name in _HARMLESS or value is None or (name == "is_causal" and value is True):
            continue
        raise PackedExecutionError(f"attention argument {name!r} is not understood by the packed executor")


def _attend_own_segments(heads: Heads, layout: PackedLayout, scaling: float) -> tuple[Tensor, Tensor]:
    """Each suffix token over its own segment: output `[suffix tokens, heads, size]`, log-sum-exp `[..., heads]`."""
    padded = [tensor[0].transpose(0, 1).index_select(0, layout.padded_positions) for tensor in heads]
    outputs, normalisers, start = [], [], 0
    for bucket in layout.buckets:
        end = start + bucket.num_segments * bucket.longest
        query, key, value = (
            tensor[start:end].view(bucket.num_segments, bucket.longest, *tensor.shape[1:]).transpose(1, 2)
            for tensor in padded
        )
        output, normaliser = attend(query, key, value, scaling=scaling, causal=bucket.mask is None, mask=bucket.mask)
        outputs.append(output.transpose(1, 2).flatten(0, 1))
        normalisers.append(normaliser.transpose(1, 2).flatten(0, 1))
        start = end
    return (
        torch.cat(outputs).index_select(0, layout.unpadding),
        torch.cat(normalisers).index_select(0, layout.unpadding),
    )


def _prefix_of(group: GroupSpan, heads: Heads, layer: int) -> tuple[Tensor, Tensor] | None:
    """Keys and values of the group's prefix, from this forward or an earlier one; None if the prefix is empty."""
    if group.prefix_length == 0:
        return None
    if group.prefix_start is None:
        return group.kept[layer]
    span = slice(group.prefix_start, group.prefix_start + group.prefix_length)
    key, value = heads[1][:, :, span], heads[2][:, :, span]
    if group.keeps_prefix:
        group.kept[layer] = key.clone(), value.clone()  # a copy, so that the other tensors of this forward can be freed
    return key, value


def _attend_suffixes(
    group: GroupSpan, own: tuple[Tensor, Tensor], query: Tensor, prefix: tuple[Tensor, Tensor] | None, scaling: float
) -> Tensor:
    """Attention of one group's suffix tokens to segment and prefix, merged  # [suffix tokens, heads, size]."""
    span = slice(group.suffix_offset, group.suffix_offset + group.num_suffix_tokens)
    own_pass = own[0][span], own[1][span]
    if prefix is None:  # an empty prefix has no keys: its log-sum-exp would be -inf
        return own_pass[0]
    suffix_queries = query[:, :, group.suffix_start : group.suffix_end]
    output, normalisers = attend(suffix_queries, *prefix, scaling=scaling)
    return merge(own_pass, (output[0].transpose(0, 1), normalisers[0].transpose(0, 1)))


def _attend_end_to_end(heads: Heads, layout: PackedLayout, ends: EndToEnd, scaling: float, layer: int) -> Tensor:
    """Attention of the whole row in two kernel calls  # [1, tokens, heads, size]."""
    output, normalisers = _attend_own(heads, layout, ends, scaling)
    prefixes = [(group, _prefix_of(group, heads, layer)) for group in layout.groups]
    seen = [prefix for group, prefix in prefixes if prefix is not None and group.num_suffix_tokens]
    if seen:
        key, value = (torch.cat([part[0].transpose(0, 1) for part in parts]) for parts in zip(*seen, strict=True))
        chosen = ends.suffix_positions
        query = heads[0][0].transpose(0, 1).index_select(0, chosen)
        other = ends.kernel(query, key, value, ends.to_prefixes, scaling, False)
        output[chosen] = merge((output[chosen], normalisers[chosen]), other)
    return output.unsqueeze(0)


def _attend_own(heads: Heads, layout: PackedLayout, ends: EndToEnd, scaling: float) -> tuple[Tensor, Tensor]:
    """Prefixes and segments over themselves: output `[tokens, heads, size]`, log-sum-exp `[tokens, heads]`."""
    query, key, value = (tensor[0].transpose(0, 1) for tensor in heads)  # [tokens, heads, size]
    if ends.branching is None:
        return ends.kernel(query, key, value, ends.own, scaling, True)
    output = torch.empty(*query.shape[:2], value.shape[-1], dtype=value.dtype, device=value.device)
    normalisers = torch.empty(query.shape[:2], dtype=torch.float32, device=value.device)
    prefixes, segments = ends.branching
    if len(segments):
        output[segments], normalisers[segments] = _attend_own_segments(heads, layout, scaling)
    if len(prefixes):
        query, key, value = (tensor.index_select(0, prefixes) for tensor in (query, key, value))
        output[prefixes], normalisers[prefixes] = ends.kernel(query, key, value, ends.own, scaling, True)
    return output, normalisers
