"""Attention over a packed row where no kernel takes sequences of different lengths: one group after another.

Segments are padded in buckets of similar length.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from lens_engine.model.labels import LabelTrie
from lens_engine.model.local.executors.base import Workload
from lens_engine.model.local.executors.packing import Group
from lens_engine.model.local.executors.transfer import IntArray, ends_of, join_ranges, sum_before
from lens_engine.model.local.executors.varlen import attend, merge_into
from lens_engine.model.tokenization import Tokens

KeyValues = dict[int, tuple[Tensor, Tensor]]
"""Keys and values of one prefix, by layer  # each [1, key-value heads, tokens, size]."""


# All prefixes come first, so that the tokens of the prefixes and those of the suffixes are two slices. Either all
# queries follow and then the nodes of the label trie after every query; or each query is followed by its own nodes.
@dataclass(frozen=True, slots=True)
class FlatTokens:
    """Token sequences, one after another in one array."""

    tokens: IntArray
    starts: IntArray
    lengths: IntArray

    @classmethod
    def of(cls, sequences: Sequence[Tokens]) -> "FlatTokens":
        lengths = np.array([len(tokens) for tokens in sequences], np.int64)
        tokens = np.fromiter(chain.from_iterable(sequences), np.int64, int(lengths.sum()))
        return cls(tokens, sum_before(lengths), lengths)

    def take(self, which: IntArray) -> IntArray:
        """The tokens of the sequences `which`, one after another."""
        return self.tokens[join_ranges(self.starts[which], self.lengths[which])]


@dataclass(frozen=True, slots=True)
class FlatWork:
    """A workload in flat arrays, made once for all its forwards."""

    prefixes: FlatTokens
    queries: FlatTokens
    trie: LabelTrie
    node_tokens: IntArray  #: of the nodes that are fed
    node_depths: IntArray
    node_of_read: IntArray  #: [reads]
    token_of_read: IntArray

    @classmethod
    def of(cls, work: Workload) -> "FlatWork":
        trie = work.trie
        nodes, tokens = np.array(trie.flat_reads, np.int64).T
        return cls(
            FlatTokens.of(work.prefixes),
            FlatTokens.of(work.queries),
            trie,
            np.array(trie.tokens[1:], np.int64),
            np.array(trie.depths[1:], np.int64),
            nodes,
            tokens,
        )


class FlatRow:
    """The row of `groups`, in their order. A segment is a query with the label nodes after it."""

    def __init__(self, work: FlatWork, groups: Sequence[Group], *, nodes_last: bool) -> None:
        self.prefix_lengths = work.prefixes.lengths[[group.prefix for group in groups]]
        self.segment_counts = np.array([len(group.queries) for group in groups], np.int64)
        fed = np.array([group.prefix for group in groups if group.feeds_prefix], np.int64)
        self.fed_lengths = work.prefixes.lengths[fed]
        #: where each group's prefix begins; it has no tokens in the row if an earlier forward fed it
        self.prefix_starts = sum_before(self.prefix_lengths * [group.feeds_prefix for group in groups])
        self.num_prefix_tokens = int(self.fed_lengths.sum())
        self.num_nodes = work.trie.num_fed  #: fed after each query

        queries = np.fromiter(chain.from_iterable(group.queries for group in groups), np.int64)
        self.query_lengths = work.queries.lengths[queries]
        self.pairs = np.repeat([group.prefix for group in groups], self.segment_counts).astype(np.int64), queries
        after_prefix = work.prefixes.lengths[self.pairs[0]]
        if nodes_last:
            self.query_starts = self.num_prefix_tokens + sum_before(self.query_lengths)
            self.nodes_start = self.num_prefix_tokens + int(self.query_lengths.sum())
            node_starts = self.nodes_start + self.num_nodes * np.arange(len(queries))
        else:
            self.query_starts = self.num_prefix_tokens + sum_before(self.query_lengths + self.num_nodes)
            node_starts = self.query_starts + self.query_lengths
        label_starts = self.query_starts + self.query_lengths - 1  # a query's last token is the trie's root
        node_places = node_starts[:, None] + np.arange(self.num_nodes)  # [segments, nodes]
        query_places = join_ranges(self.query_starts, self.query_lengths)

        size = self.num_prefix_tokens + len(query_places) + node_places.size
        self.ids = np.empty(size, np.int64)
        self.ids[: self.num_prefix_tokens] = work.prefixes.take(fed)
        self.ids[query_places] = work.queries.take(queries)
        self.ids[node_places] = work.node_tokens
        self.positions = np.empty(size, np.int64)
        self.positions[: self.num_prefix_tokens] = join_ranges(np.zeros_like(fed), self.fed_lengths)
        self.positions[query_places] = join_ranges(after_prefix, self.query_lengths)
        self.positions[node_places] = (after_prefix + self.query_lengths - 1)[:, None] + work.node_depths
        #: where logits are needed  # [segments * (1 + nodes)]
        self.label_positions = np.hstack([label_starts[:, None], node_places]).ravel()
        first_rows = np.arange(len(queries))[:, None] * (1 + self.num_nodes)
        #: row of `label_positions` and token of each read, segment by segment  # [2, segments * reads]
        self.reads = np.stack(
            [(first_rows + work.node_of_read).ravel(), np.tile(work.token_of_read, len(queries))]
        ).astype(np.int64)

    def sum_groups(self, lengths: IntArray) -> IntArray:
        """The sum of the segments' `lengths` in each group  # [groups]."""
        sums: IntArray = np.diff(ends_of(lengths)[ends_of(self.segment_counts)])
        return sums


Heads = tuple[Tensor, Tensor, Tensor]
"""Query, key and value, as the model gives them: `[1, heads, tokens, size]`."""

_MAX_PADDING = 1.25
"""Largest ratio of lengths in a bucket. Attention is quadratic, so 1.25 is up to half more work; a bucket is a call."""


@dataclass(frozen=True, slots=True)
class GroupSpan:
    """The place of one group in the flat row: positions of its tokens."""

    prefix_length: int
    prefix_start: int | None  #: None if an earlier forward fed the prefix
    suffix_start: int
    suffix_end: int
    keeps_prefix: bool
    kept: KeyValues  #: of a prefix that an earlier forward fed or a later forward needs


@dataclass(frozen=True, slots=True)
class Bucket:
    """Segments of similar length, padded to the longest for one attention pass."""

    num_segments: int
    longest: int
    mask: Tensor | None  #: [segments, 1, longest, longest], added to scores; None for causal attention


@dataclass(frozen=True, slots=True)
class InTurn:
    """The places of groups and segments in a row, and its attention."""

    groups: tuple[GroupSpan, ...]
    num_prefix_tokens: int
    buckets: tuple[Bucket, ...]  #: all segments
    padded_positions: Tensor  #: position of each token of the buckets' padded segments, bucket after bucket
    unpadding: Tensor  #: index of each suffix token in `padded_positions`  # [suffix tokens]

    def attend(self, heads: Heads, scaling: float, layer: int) -> Tensor:
        """Attention of one group after another  # [1, tokens, heads, size]."""
        query, _, value = heads
        output = torch.empty(*query.shape[:3], value.shape[-1], dtype=value.dtype, device=value.device).transpose(1, 2)
        own = self._attend_own_segments(heads, scaling) if self.buckets else None
        for group in self.groups:
            prefix = _prefix_of(group, heads, layer)
            if group.prefix_start is not None and prefix is not None:
                span = slice(group.prefix_start, group.prefix_start + group.prefix_length)
                output[:, span] = attend(query[:, :, span], *prefix, scaling=scaling, causal=True)[0].transpose(1, 2)
            if own is not None and group.suffix_end > group.suffix_start:
                span = slice(group.suffix_start, group.suffix_end)
                among_suffixes = slice(span.start - self.num_prefix_tokens, span.stop - self.num_prefix_tokens)
                own_pass = own[0][among_suffixes], own[1][among_suffixes]
                output[:, span] = _attend_suffixes(own_pass, query[:, :, span], prefix, scaling)
        return output

    def _attend_own_segments(self, heads: Heads, scaling: float) -> tuple[Tensor, Tensor]:
        """Each suffix token over its own segment: output `[suffix tokens, heads, size]`, log-sum-exp `[..., heads]`."""
        padded = [tensor[0].transpose(0, 1).index_select(0, self.padded_positions) for tensor in heads]
        outputs, normalisers, start = [], [], 0
        for bucket in self.buckets:
            end = start + bucket.num_segments * bucket.longest
            query, key, value = (
                tensor[start:end].view(bucket.num_segments, bucket.longest, *tensor.shape[1:]).transpose(1, 2)
                for tensor in padded
            )
            output, normaliser = attend(
                query, key, value, scaling=scaling, causal=bucket.mask is None, mask=bucket.mask
            )
            outputs.append(output.transpose(1, 2).flatten(0, 1))
            normalisers.append(normaliser.transpose(1, 2).flatten(0, 1))
            start = end
        return (
            torch.cat(outputs).index_select(0, self.unpadding),
            torch.cat(normalisers).index_select(0, self.unpadding),
        )


def lay_out_in_turn(
    row: FlatRow, groups: Sequence[Group], kept: dict[int, KeyValues], trie: LabelTrie, like: Tensor
) -> InTurn:
    """The places in `row`, whose queries are each followed by their nodes; tensors are like `like`."""
    lengths = row.query_lengths + row.num_nodes
    buckets = list(_sort_into_buckets(lengths))
    padded, unpadding = _pad(buckets, row.query_starts, lengths)
    return InTurn(
        tuple(_spans(row, groups, kept, lengths)),
        row.num_prefix_tokens,
        tuple(_make_bucket(lengths[segments], trie, like) for segments in buckets),
        torch.from_numpy(padded).to(like.device),
        torch.from_numpy(unpadding).to(like.device),
    )


def _spans(row: FlatRow, groups: Sequence[Group], kept: dict[int, KeyValues], lengths: IntArray) -> Iterator[GroupSpan]:
    sizes = row.sum_groups(lengths)
    places = (row.prefix_lengths, row.prefix_starts, row.num_prefix_tokens + sum_before(sizes), sizes)
    for group, length, prefix_start, start, size in zip(groups, *(one.tolist() for one in places), strict=True):
        fed_at = prefix_start if group.feeds_prefix else None
        yield GroupSpan(length, fed_at, start, start + size, group.keeps_prefix, kept.get(group.prefix, {}))


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
    own: tuple[Tensor, Tensor], query: Tensor, prefix: tuple[Tensor, Tensor] | None, scaling: float
) -> Tensor:
    """Attention of one group's suffix tokens to segment and prefix, merged  # [suffix tokens, heads, size]."""
    if prefix is None:  # an empty prefix has no keys: its log-sum-exp would be -inf
        return own[0]
    output, normalisers = attend(query, *prefix, scaling=scaling)
    merge_into(own, (output[0].transpose(0, 1), normalisers[0].transpose(0, 1)))
    return own[0]


def _sort_into_buckets(lengths: IntArray) -> Iterator[IntArray]:
    """Segments by length; a new bucket begins where padding the shortest to the longest would add too much."""
    order = np.argsort(lengths, kind="stable")
    ascending, start = lengths[order], 0
    while start < len(order):
        end = int(np.searchsorted(ascending, _MAX_PADDING * ascending[start], side="right"))
        yield order[start:end]
        start = end


def _pad(buckets: Sequence[IntArray], starts: IntArray, lengths: IntArray) -> tuple[IntArray, IntArray]:
    """Positions of the segments, padded with their last token, and the indices that undo padding and sorting."""
    padded, offsets, offset = [np.zeros(0, np.int64)], np.zeros_like(lengths), 0
    for segments in buckets:
        longest = int(lengths[segments[-1]])
        steps = np.minimum(np.arange(longest), lengths[segments][:, None] - 1)  # [segments, longest]
        padded.append((starts[segments][:, None] + steps).ravel())
        offsets[segments] = offset + longest * np.arange(len(segments))
        offset += steps.size
    return np.concatenate(padded), join_ranges(offsets, lengths)


def _make_bucket(lengths: IntArray, trie: LabelTrie, like: Tensor) -> Bucket:
    mask = _tree_mask(lengths.tolist(), trie, like.dtype).to(like.device) if trie.num_fed else None
    return Bucket(len(lengths), int(lengths[-1]), mask)


def _tree_mask(lengths: list[int], trie: LabelTrie, dtype: torch.dtype) -> Tensor:
    """0 where a token attends, -inf elsewhere: queries are causal; a trie node attends to query, ancestors and itself.

    Padding tokens attend to the whole segment; their output is not read.
    """
    longest = max(lengths)
    allowed = np.tril(np.ones((len(lengths), longest, longest), bool))
    ancestry = trie.ancestry()
    for index, length in enumerate(lengths):
        query_end = length - trie.num_fed
        allowed[index, query_end:length, query_end:length] = ancestry
    mask = torch.zeros(allowed.shape, dtype=dtype).masked_fill(torch.from_numpy(~allowed), float("-inf"))
    return mask.unsqueeze(1)
