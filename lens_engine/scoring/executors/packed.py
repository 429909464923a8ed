"""Flat rows without padding: each prefix once, then its queries side by side, which do not see each other.

The model runs over one long row in which positions start again in every prompt; only attention has to
know. It is replaced by a registered function that attends twice, to the prompt's own prefix and to
the token's own segment, and merges the two by their log-sum-exp. Everything else in a decoder layer
is token by token, so the numbers are those of prompts run one at a time.

This is right only where attention is all that mixes tokens, and plain softmax attention at that:
`refuse_unknown` stops any other kind, and the load-time self-check catches what it cannot see.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from lens_engine.scoring.executors.attention import attend, merge
from lens_engine.scoring.executors.base import (
    ExecutorName,
    TokenCounters,
    Workload,
    read_log_probs,
    sum_label_words,
)
from lens_engine.scoring.executors.head import float32_logits
from lens_engine.scoring.executors.layout import GroupSpan, PackedInputs, PackedLayout, lay_out
from lens_engine.scoring.packing import plan
from lens_engine.types import LabelLogProbs

ATTENTION_NAME = "lens_packed"
"""The name under which `packed_attention` has to be registered, and set on the model."""

# Arguments that do not change what attention computes here: positions are already in query and key.
_HARMLESS = frozenset(
    {"position_ids", "position_embeddings", "cache_position", "use_cache", "output_attentions", "output_hidden_states"}
)


class PackedExecutionError(RuntimeError):
    """The model does not run packed: it asks attention for something else, or does not call it."""


class PackedExecutor:
    """One prompt-packed row a forward; nothing is padded outside attention, nothing fed twice."""

    name: ClassVar[ExecutorName] = "packed"

    def __init__(self, model: Any, counters: TokenCounters) -> None:
        self._model = model
        self._counters = counters
        weights = next(model.parameters())
        self._device, self._dtype = weights.device, weights.dtype

    def run(self, work: Workload, budget: int) -> LabelLogProbs:
        reads = work.new_reads()
        kept: dict[int, tuple[Tensor, Tensor]] = {}
        with float32_logits(self._model), _packed_attention_on(self._model):
            for forward in plan(work.prefix_lengths, work.query_lengths, budget, tail=work.trie.num_fed):
                inputs = lay_out(forward, work, self._device, self._dtype, kept)
                logits = self._forward(inputs)
                if inputs.pairs:
                    self._read(logits, inputs, work, reads)
        return sum_label_words(reads, work.trie)

    def _forward(self, inputs: PackedInputs) -> Tensor:
        ids = torch.from_numpy(inputs.ids).to(self._device).unsqueeze(0)  # [1, tokens]
        positions = torch.from_numpy(inputs.positions).to(self._device).unsqueeze(0)
        keep = torch.from_numpy(inputs.label_positions).to(self._device)
        outputs = self._model(
            input_ids=ids, position_ids=positions, use_cache=False, logits_to_keep=keep, packed_layout=inputs.layout
        )
        self._counters.count_forward(ids)
        if inputs.layout.num_calls == 0:
            raise PackedExecutionError("the model did not call the registered attention function")
        logits: Tensor = outputs.logits[0]
        return logits

    def _read(self, logits: Tensor, inputs: PackedInputs, work: Workload, reads: np.ndarray) -> None:
        """`logits  # [segments * nodes, vocabulary]` to the reads of each segment's pair."""
        nodes, tokens = np.array(work.trie.flat_reads, np.int64).T
        first_rows = np.arange(len(inputs.pairs))[:, None] * work.trie.num_nodes  # [segments, 1]
        values = read_log_probs(logits, (first_rows + nodes).ravel(), np.tile(tokens, len(inputs.pairs)))
        prefixes, queries = np.array(inputs.pairs).T
        reads[prefixes, queries] = values.reshape(len(inputs.pairs), -1)


@contextmanager
def _packed_attention_on(model: Any) -> Iterator[None]:
    """The model with `packed_attention` as its attention function; with its own again afterwards.

    Raises:
        PackedExecutionError: the architecture cannot have it.
    """
    if not model._supports_attention_backend:
        raise PackedExecutionError("the architecture does not look up its attention function")
    layer_types = getattr(model.config.get_text_config(), "layer_types", None) or ()
    others = {kind for kind in layer_types if kind != "full_attention"}
    if others:
        raise PackedExecutionError(f"layers of type {', '.join(sorted(others))} are not full attention")
    original = model.config._attn_implementation
    model.set_attn_implementation(ATTENTION_NAME)
    try:
        if model.config._attn_implementation != ATTENTION_NAME:  # transformers warns, and stays with another
            raise PackedExecutionError("the architecture did not take the registered attention function")
        yield
    finally:
        model.set_attn_implementation(original)


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
    """Attention of one decoder layer over a packed row, as transformers' attention interface has it.

    Args:
        query: `[1, heads, tokens, size]`.
        key, value: `[1, key-value heads, tokens, size]`.
        packed_layout: of this forward.

    Returns:
        output `[1, tokens, heads, size]`, and no attention weights.
    """
    refuse_unknown({**kwargs, "attention_mask": attention_mask, "dropout": dropout or None})
    if not getattr(module, "is_causal", True):
        raise PackedExecutionError("the model's attention is not causal")
    layer = packed_layout.num_calls
    packed_layout.num_calls += 1
    scaling = scaling if scaling is not None else query.shape[-1] ** -0.5
    heads = (query, key, value)
    output = torch.empty(*query.shape[:3], value.shape[-1], dtype=value.dtype, device=value.device).transpose(1, 2)
    own = _attend_own_segments(heads, packed_layout, scaling) if packed_layout.buckets else None
    for group in packed_layout.groups:
        prefix = _prefix_of(group, heads, packed_layout.kept, layer)
        if group.prefix_start is not None and prefix is not None:
            span = slice(group.prefix_start, group.prefix_start + group.prefix_length)
            output[:, span] = attend(query[:, :, span], *prefix, scaling=scaling, causal=True)[0].transpose(1, 2)
        if own is not None and group.num_suffix_tokens:
            output[:, group.suffix_start : group.suffix_end] = _attend_suffixes(group, own, query, prefix, scaling)
    return output, None


def refuse_unknown(arguments: Mapping[str, Any]) -> None:
    """Stop at any argument that could change attention (a window, a cap, sinks, a bias) and is not understood.

    Raises:
        PackedExecutionError: naming the argument.
    """
    for name, value in arguments.items():
        if name in _HARMLESS or value is None or (name == "is_causal" and value is True):
            continue
        raise PackedExecutionError(f"attention argument {name!r} is not understood by the packed executor")


Heads = tuple[Tensor, Tensor, Tensor]


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


def _prefix_of(
    group: GroupSpan, heads: Heads, kept: dict[int, tuple[Tensor, Tensor]], layer: int
) -> tuple[Tensor, Tensor] | None:
    """Keys and values of the group's prefix, from this forward or an earlier one; None if it is empty."""
    if group.prefix_length == 0:
        return None
    if group.prefix_start is None:
        return kept[layer]
    span = slice(group.prefix_start, group.prefix_start + group.prefix_length)
    key, value = heads[1][:, :, span], heads[2][:, :, span]
    if group.keeps_prefix:
        kept[layer] = key.clone(), value.clone()  # a copy, so that the rest of this forward can go
    return key, value


def _attend_suffixes(
    group: GroupSpan, own: tuple[Tensor, Tensor], query: Tensor, prefix: tuple[Tensor, Tensor] | None, scaling: float
) -> Tensor:
    """Own and prefix pass of one group's suffix tokens, merged  # [suffix tokens, heads, size]."""
    span = slice(group.suffix_offset, group.suffix_offset + group.num_suffix_tokens)
    own_pass = own[0][span], own[1][span]
    if prefix is None:  # nothing to see there: its log-sum-exp would be -inf
        return own_pass[0]
    suffix_queries = query[:, :, group.suffix_start : group.suffix_end]
    output, normalisers = attend(suffix_queries, *prefix, scaling=scaling)
    return merge(own_pass, (output[0].transpose(0, 1), normalisers[0].transpose(0, 1)))
