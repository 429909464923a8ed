"""The layout of one packed forward: its input on the device, and what the attention function has to know."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from lens_engine.model.local.executors.base import Workload
from lens_engine.model.local.executors.end_to_end import EndToEnd, lay_out_end_to_end
from lens_engine.model.local.executors.in_turn import FlatRow, FlatWork, InTurn, KeyValues, lay_out_in_turn
from lens_engine.model.local.executors.packing import Forward, Group
from lens_engine.model.local.executors.transfer import IntArray, upload
from lens_engine.model.local.executors.varlen import AttendSequences
from lens_engine.model.tokenization import Tokens

ALL_LAYERS = 1 << 30
"""Depth of a forward that ends after the last layer."""


class _Held(NamedTuple):
    key_values: KeyValues
    depth: int  #: number of layers that were computed


class HeldPrefixes:
    """Keys and values by prefix, at most `max_bytes` (bytes); the least recently used are evicted."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._held: OrderedDict[Tokens, _Held] = OrderedDict()
        self.num_bytes = 0

    def get(self, prefix: Tokens, depth: int = ALL_LAYERS) -> KeyValues | None:
        """Keys and values of at least the first `depth` layers."""
        held = self._held.get(prefix)
        if held is None or held.depth < depth:
            return None
        self._held.move_to_end(prefix)
        return held.key_values

    def put(self, prefix: Tokens, key_values: KeyValues, depth: int = ALL_LAYERS) -> None:
        """Hold a prefix's keys and values, unless those of as many layers are held or they exceed `max_bytes`."""
        size = _count_bytes(key_values)
        if self.get(prefix, depth) is not None or size > self._max_bytes:
            return
        if (shallower := self._held.pop(prefix, None)) is not None:
            self.num_bytes -= _count_bytes(shallower.key_values)
        self._held[prefix] = _Held(key_values, depth)
        self.num_bytes += size
        while self.num_bytes > self._max_bytes:
            _, oldest = self._held.popitem(last=False)
            self.num_bytes -= _count_bytes(oldest.key_values)

    def clear(self) -> None:
        self._held.clear()
        self.num_bytes = 0


def _count_bytes(key_values: KeyValues) -> int:
    return sum(tensor.numel() * tensor.element_size() for pair in key_values.values() for tensor in pair)


@dataclass(slots=True)
class PackedLayout:
    """The layout of one forward, as the attention function needs it; the model passes it through."""

    way: EndToEnd | InTurn
    num_calls: int = 0  #: calls of the attention function in this forward
    windows: set[int] = field(default_factory=set)  #: windows of sliding attention that the layers named (tokens)


@dataclass(frozen=True, slots=True)
class PackedInputs:
    """The input of one forward on the device, and where to read its logits."""

    ids: Tensor  #: [tokens]
    positions: Tensor  #: [tokens], from 0 in each prompt
    label_positions: Tensor  #: [segments * trie nodes]
    reads: Tensor  #: [2, segments * reads], index into `label_positions` and token of each read
    pairs: tuple[IntArray, IntArray]  #: prefix and query of each segment
    query_ranges: tuple[IntArray, IntArray]  #: start and length of each segment's query, in `ids`
    layout: PackedLayout

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the model, but for where logits are needed."""
        return {
            "input_ids": self.ids.unsqueeze(0),  # [1, tokens]
            "position_ids": self.positions.unsqueeze(0),
            "use_cache": False,
            "packed_layout": self.layout,
        }


class Layouts:
    """Lays out the forwards of one workload. Its tokens are put into flat arrays once, for all forwards.

    Args:
        like: a tensor with the model's device and number format.
        kernel: attends to concatenated sequences; None: groups attend in turn.
    """

    def __init__(self, work: Workload, like: Tensor, kernel: AttendSequences | None) -> None:
        self._work = FlatWork.of(work)
        self._like = like.new_empty(0)
        self._kernel = kernel
        self._ancestry = self._make_ancestry() if kernel and work.trie.num_fed else None

    def lay_out(self, forward: Forward, kept: dict[int, KeyValues]) -> PackedInputs:
        """Lay out the tokens of `forward`.

        `kept` holds the keys and values of prefixes that earlier forwards fed, by prefix. This forward adds those of
        the prefixes that it keeps.
        """
        groups = sorted(forward.groups, key=self._rank)
        for group in groups:
            if group.feeds_prefix and group.keeps_prefix:
                kept[group.prefix] = {}
        row = FlatRow(self._work, groups, nodes_last=self._kernel is not None)
        numbers = [row.ids, row.positions, row.label_positions, row.reads]
        ids, positions, label_positions, reads = upload(numbers, self._like.device)
        way = (
            lay_out_in_turn(row, groups, kept, self._work.trie, self._like)
            if self._kernel is None
            else lay_out_end_to_end(row, groups, kept, self._kernel, self._ancestry, self._like.device)
        )
        ranges = row.query_starts, row.query_lengths
        return PackedInputs(ids, positions, label_positions, reads, row.pairs, ranges, PackedLayout(way))

    def _rank(self, group: Group) -> int:
        """Groups that see a prefix come first, and those without queries last."""
        if not group.queries:
            return 2
        return 0 if self._work.prefixes.lengths[group.prefix] else 1

    def _make_ancestry(self) -> Tensor:
        allowed = torch.from_numpy(np.array(self._work.trie.ancestry()))
        mask = torch.zeros(allowed.shape, dtype=self._like.dtype).masked_fill(~allowed, float("-inf"))
        return mask.to(self._like.device)[None, None]


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
    """Refuse unknown arguments that could change attention (a cap, sinks, a bias)."""
    for name, value in arguments.items():
        if name in _HARMLESS or value is None or (name == "is_causal" and value is True):
            continue
        raise PackedExecutionError(f"attention argument {name!r} is not understood by the packed executor")
