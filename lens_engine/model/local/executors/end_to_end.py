"""Attention over a packed row by a kernel that takes sequences of different lengths: nothing is padded or gathered.

The row is three slices: prefixes, queries, and the nodes of the label trie after every query. Each slice is one kernel
call over itself, and each suffix slice one more over the prefixes. Groups that see a prefix come first in each slice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lens_engine.model.local.executors.in_turn import FlatRow, Heads, KeyValues
from lens_engine.model.local.executors.packing import Group
from lens_engine.model.local.executors.transfer import ends_of, upload
from lens_engine.model.local.executors.varlen import (
    AttendSequences,
    Sequences,
    UnsupportedHeads,
    attend_portable,
    merge_into,
    takes_heads,
)


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
