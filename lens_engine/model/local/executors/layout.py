"""The layout of one packed forward: its input on the device, and what the attention function has to know.

And attention over a packed row by a kernel that takes sequences of different lengths: nothing is padded or gathered.
The row is three slices: prefixes, queries, and the nodes of the label trie after every query. Each slice is one kernel
call over itself, and each suffix slice one more over the prefixes. Groups that see a prefix come first in each slice.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from lens_engine.model.local.executors.base import Workload
from lens_engine.model.local.executors.in_turn import FlatRow, FlatWork, Heads, InTurn, KeyValues, lay_out_in_turn
from lens_engine.model.local.executors.packing import Forward, Group
from lens_engine.model.local.executors.transfer import IntArray, ends_of, upload
from lens_engine.model.local.executors.varlen import (
    AttendSequences,
    Sequences,
    UnsupportedHeads,
    attend_portable,
    merge_into,
    takes_heads,
)
from lens_engine.model.tokenization import Tokens


@dataclass(frozen=True, slots=True)
class Suffixes:
    """The queries, or the nodes, of all groups: a slice of the row."""

    start: int
    end: int
    num_seeing: int  #: tokens of groups that see a prefix; they come first
    to_prefixes: Sequences  #: the tokens of each group that sees a prefix, over that prefix


@dataclass(frozen=True, slots=True)
class EndToEnd:
    """The slices of a row, and its attention."""

    kernel: AttendSequences
    prefixes: Sequences  #: each prefix fed in this forward, over itself
    queries: Sequences  #: each query, over itself
    nodes: Sequences  #: the nodes after each query, over the query
    query_suffixes: Suffixes
    node_suffixes: Suffixes
    ancestry: Tensor | None  #: [1, 1, nodes, nodes], added to scores: a node sees its ancestors and itself
    seen: tuple[slice | KeyValues, ...]  #: keys and values of the prefixes that are seen, in the row or kept
    to_keep: tuple[tuple[slice, KeyValues], ...]  #: prefixes of this row that a later forward needs

    def attend(self, heads: Heads, scaling: float, layer: int) -> Tensor:
        """Attention of the whole row  # [1, tokens, heads, size]."""
        if not takes_heads(heads[0], heads[2]):
            raise UnsupportedHeads(f"the kernel does not take heads of {heads[0].shape[-1]}")
        query, key, value = (tensor[0].transpose(0, 1) for tensor in heads)  # [tokens, heads, size]
        parts = []
        for span, kept in self.to_keep:  # copies, so that the other tensors of this forward can be freed
            kept[layer] = heads[1][:, :, span].clone(), heads[2][:, :, span].clone()
        start, end = self.query_suffixes.start, self.query_suffixes.end
        if start:
            of_prefixes = slice(0, start)
            parts.append(
                self.kernel(query[of_prefixes], key[of_prefixes], value[of_prefixes], self.prefixes, scaling, True)[0]
            )
        if end > start:
            prefix = self._seen_prefixes(key, value, layer)
            own = self.kernel(query[start:end], key[start:end], value[start:end], self.queries, scaling, True)
            parts.append(self._see_prefixes(self.query_suffixes, own, query, prefix, scaling))
            if self.ancestry is not None:
                own = self._attend_nodes(query, key, value, scaling)
                parts.append(self._see_prefixes(self.node_suffixes, own, query, prefix, scaling))
        return torch.cat(parts).unsqueeze(0)

    def _attend_nodes(self, query: Tensor, key: Tensor, value: Tensor, scaling: float) -> tuple[Tensor, Tensor]:
        """Each node over its query, its ancestors and itself: output `[nodes, heads, size]`, log-sum-exp."""
        assert self.ancestry is not None
        queries, nodes = (slice(one.start, one.end) for one in (self.query_suffixes, self.node_suffixes))
        own = self.kernel(query[nodes], key[queries], value[queries], self.nodes, scaling, False)
        by_segment = (
            torch.unflatten(tensor[nodes], 0, (-1, self.ancestry.shape[-1])).transpose(1, 2)
            for tensor in (query, key, value)
        )
        output, normalisers = attend_portable(*by_segment, scaling=scaling, mask=self.ancestry)
        others = output.transpose(1, 2).flatten(0, 1), normalisers.transpose(1, 2).flatten(0, 1)
        merged = torch.logaddexp(own[1], others[1])
        merge_into(own, others)
        return own[0], merged

    def _seen_prefixes(self, key: Tensor, value: Tensor, layer: int) -> tuple[Tensor, Tensor] | None:
        """Keys and values of the prefixes that are seen  # each [keys, key-value heads, size]."""
        if not self.seen:
            return None
        if len(self.seen) == 1 and isinstance(self.seen[0], slice):
            return key[self.seen[0]], value[self.seen[0]]
        pieces = [
            (key[one], value[one])
            if isinstance(one, slice)
            else (one[layer][0][0].transpose(0, 1), one[layer][1][0].transpose(0, 1))
            for one in self.seen
        ]
        keys, values = zip(*pieces, strict=True)
        return torch.cat(keys), torch.cat(values)

    def _see_prefixes(
        self,
        suffixes: Suffixes,
        own: tuple[Tensor, Tensor],
        query: Tensor,
        prefix: tuple[Tensor, Tensor] | None,
        scaling: float,
    ) -> Tensor:
        """Merge attention to the prefixes into `own`, the attention of suffix tokens to their own segments."""
        if prefix is not None:
            seeing = query[suffixes.start : suffixes.start + suffixes.num_seeing]
            other = self.kernel(seeing, *prefix, suffixes.to_prefixes, scaling, False)
            merge_into((own[0][: suffixes.num_seeing], own[1][: suffixes.num_seeing]), other)
        return own[0]


def lay_out_end_to_end(
    row: FlatRow,
    groups: Sequence[Group],
    kept: dict[int, KeyValues],
    kernel: AttendSequences,
    ancestry: Tensor | None,
    device: torch.device,
) -> EndToEnd:
    """The slices of `row`, in which nodes are last; of `groups`, those that see a prefix must be first."""
    prefixes = row.fed_lengths[row.fed_lengths > 0]
    nodes = np.full(len(row.query_lengths), row.num_nodes)
    seen = row.prefix_lengths[(row.prefix_lengths > 0) & (row.segment_counts > 0)]
    query_tokens, node_tokens = (row.sum_groups(lengths)[: len(seen)] for lengths in (row.query_lengths, nodes))
    lengths = (prefixes, row.query_lengths, nodes, seen, query_tokens, node_tokens)
    ends = [one.to(torch.int32) for one in upload([ends_of(one) for one in lengths], device)]
    of_prefixes, of_queries, of_nodes, of_seen, of_group_queries, of_group_nodes = (
        _Lengths(end, int(one.max(initial=0))) for end, one in zip(ends, lengths, strict=True)
    )
    return EndToEnd(
        kernel,
        of_prefixes.over(of_prefixes),
        of_queries.over(of_queries),
        of_nodes.over(of_queries),
        Suffixes(row.num_prefix_tokens, row.nodes_start, int(query_tokens.sum()), of_group_queries.over(of_seen)),
        Suffixes(row.nodes_start, len(row.ids), int(node_tokens.sum()), of_group_nodes.over(of_seen)),
        ancestry,
        tuple(_find_seen(row, groups, kept)),
        tuple(_find_kept(row, groups, kept)),
    )


@dataclass(frozen=True, slots=True)
class _Lengths:
    """Sequences as the kernel wants them."""

    ends: Tensor
    longest: int

    def over(self, keys: "_Lengths") -> Sequences:
        return Sequences(self.ends, keys.ends, self.longest, keys.longest)


def _prefix_slices(row: FlatRow, groups: Sequence[Group]) -> Iterator[tuple[Group, slice, bool]]:
    """Each group with the place of its prefix, if this forward feeds it, and whether its queries see a prefix."""
    for group, start, length in zip(groups, row.prefix_starts.tolist(), row.prefix_lengths.tolist(), strict=True):
        end = start + length if group.feeds_prefix else start
        yield group, slice(start, end), length > 0 and len(group.queries) > 0


def _find_seen(row: FlatRow, groups: Sequence[Group], kept: dict[int, KeyValues]) -> Iterator[slice | KeyValues]:
    """What the groups that see a prefix see, in their order; neighbours in the row are one slice."""
    open_slice: slice | None = None
    for group, span, sees in _prefix_slices(row, groups):
        if sees and group.feeds_prefix:
            open_slice = slice(span.start if open_slice is None else open_slice.start, span.stop)
        elif sees:
            if open_slice is not None:
                yield open_slice
                open_slice = None
            yield kept[group.prefix]
    if open_slice is not None:
        yield open_slice


def _find_kept(row: FlatRow, groups: Sequence[Group], kept: dict[int, KeyValues]) -> Iterator[tuple[slice, KeyValues]]:
    for group, span, _ in _prefix_slices(row, groups):
        if group.feeds_prefix and group.keeps_prefix and span.stop > span.start:
            yield span, kept[group.prefix]


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
