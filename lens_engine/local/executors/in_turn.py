"""Attention over a packed row where no kernel takes sequences of different lengths: one group after another.

Segments are padded in buckets of similar length.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lens_engine.local.executors.attention import attend, merge_into
from lens_engine.local.executors.flat_row import FlatRow
from lens_engine.local.executors.held_prefixes import KeyValues
from lens_engine.local.executors.packing import Group
from lens_engine.local.executors.ranges import join_ranges, sum_before
from lens_engine.local.executors.transfer import IntArray
from lens_engine.scoring.labels import LabelTrie

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
