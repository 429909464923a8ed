"""The layout of one packed forward: token ids, positions, segments and label positions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lens_engine.scoring.executors.base import Workload
from lens_engine.scoring.executors.held_prefixes import KeyValues
from lens_engine.scoring.executors.packing import Forward, order_by_length
from lens_engine.scoring.executors.varlen import AttendSequences, Sequences
from lens_engine.scoring.labels import LabelTrie

IntArray = NDArray[np.int64]

_NONE: IntArray = np.zeros(0, np.int64)
_MAX_PADDING = 1.25
"""Largest ratio of lengths in a bucket. Attention is quadratic, so 1.25 is up to half more work; a bucket is a call."""


@dataclass(frozen=True, slots=True)
class GroupSpan:
    """The place of one group in the flat row: positions of its tokens."""

    prefix_length: int
    prefix_start: int | None  #: None if an earlier forward fed the prefix
    suffix_start: int  #: index among all tokens of the row
    suffix_end: int
    suffix_offset: int  #: index among the suffix tokens
    keeps_prefix: bool
    kept: KeyValues  #: of a prefix that an earlier forward fed or a later forward needs

    @property
    def num_suffix_tokens(self) -> int:
        return self.suffix_end - self.suffix_start


@dataclass(frozen=True, slots=True)
class Bucket:
    """Segments of similar length, padded to the longest for one attention pass."""

    num_segments: int
    longest: int
    mask: Tensor | None  #: [segments, 1, longest, longest], added to scores; None for causal attention


@dataclass(frozen=True, slots=True)
class EndToEnd:
    """The same forward for a kernel that takes concatenated sequences and needs no padding."""

    kernel: AttendSequences
    own: Sequences  #: prefixes and segments of the row, each over itself; prefixes only where `branching` is set
    branching: tuple[Tensor, Tensor] | None  #: positions of prefix and of segment tokens, if a label trie is fed
    to_prefixes: Sequences  #: each group's suffix tokens over its prefix; groups without a prefix are left out
    suffix_positions: Tensor  #: of the suffix tokens that have a prefix


@dataclass(slots=True)
class PackedLayout:
    """The layout of one forward, as the attention function needs it; the model passes it through."""

    groups: tuple[GroupSpan, ...]
    buckets: tuple[Bucket, ...]  #: all segments; a bucket holds those of similar length
    padded_positions: Tensor  #: position of each token of the buckets' padded segments, bucket after bucket
    unpadding: Tensor  #: index of each suffix token in `padded_positions`  # [suffix tokens]
    end_to_end: EndToEnd | None = None  #: None if no kernel takes it
    num_calls: int = field(default=0)  #: calls of the attention function in this forward


@dataclass(frozen=True, slots=True)
class PackedInputs:
    """The input of one forward, and the positions at which to read logits."""

    ids: IntArray  #: [tokens]
    positions: IntArray  #: [tokens], from 0 in each prompt
    label_positions: IntArray  #: [segments * trie nodes]
    pairs: tuple[tuple[int, int], ...]  #: (prefix, query) of each segment
    layout: PackedLayout


def lay_out(
    forward: Forward,
    work: Workload,
    device: torch.device,
    dtype: torch.dtype,
    kept: dict[int, KeyValues],
    kernel: AttendSequences | None = None,
) -> PackedInputs:
    """Lay the tokens of `forward` end to end, in the order of its groups.

    `kept` holds the keys and values of prefixes that earlier forwards fed, by prefix. This forward adds those of the
    prefixes that it keeps.
    """
    row = _FlatRow(work)
    groups = []
    for group in forward.groups:
        prefix = work.prefixes[group.prefix]
        prefix_start = row.append(prefix, 0) if group.feeds_prefix else None
        suffix_start, suffix_offset = len(row.ids), sum(row.lengths)
        for query in group.queries:
            row.append_suffix(group.prefix, query)
        if group.feeds_prefix and group.keeps_prefix:
            kept[group.prefix] = {}
        groups.append(
            GroupSpan(
                len(prefix),
                prefix_start,
                suffix_start,
                len(row.ids),
                suffix_offset,
                group.keeps_prefix,
                kept.get(group.prefix, {}),
            )
        )
    in_buckets = _sort_into_buckets(row.lengths)
    padded, unpadding = _pad(in_buckets, np.array(row.starts, np.int64), np.array(row.lengths, np.int64))
    layout = PackedLayout(
        groups=tuple(groups),
        buckets=tuple(_bucket([row.lengths[s] for s in segments], work.trie, dtype, device) for segments in in_buckets),
        padded_positions=torch.from_numpy(padded).to(device),
        unpadding=torch.from_numpy(unpadding).to(device),
        end_to_end=_end_to_end(kernel, groups, row, work.trie, device) if kernel else None,
    )
    ids, positions = np.array(row.ids, np.int64), np.array(row.positions, np.int64)
    return PackedInputs(ids, positions, np.array(row.label_positions, np.int64), tuple(row.pairs), layout)


class _FlatRow:
    """Builds the flat row, and records the place of each segment."""

    def __init__(self, work: Workload) -> None:
        self._work = work
        self.ids: list[int] = []
        self.positions: list[int] = []
        self.starts: list[int] = []
        self.lengths: list[int] = []
        self.label_positions: list[int] = []
        self.pairs: list[tuple[int, int]] = []

    def append(self, tokens: tuple[int, ...], position: int) -> int:
        start = len(self.ids)
        self.ids += tokens
        self.positions += range(position, position + len(tokens))
        return start

    def append_suffix(self, prefix: int, query: int) -> None:
        """Append a query, then the nodes of the label trie; a node's position follows from its depth."""
        tokens, trie = self._work.queries[query], self._work.trie
        after_prefix = len(self._work.prefixes[prefix])
        start = self.append(tokens, after_prefix)
        label_position = after_prefix + len(tokens) - 1
        self.ids += trie.tokens[1:]
        self.positions += (label_position + depth for depth in trie.depths[1:])
        self.starts.append(start)
        self.lengths.append(len(tokens) + trie.num_fed)
        self.label_positions += range(start + len(tokens) - 1, start + len(tokens) + trie.num_fed)
        self.pairs.append((prefix, query))


def _sort_into_buckets(lengths: Sequence[int]) -> list[list[int]]:
    """Sort segments by length; a new bucket begins where padding the shortest to the longest would add too much."""
    buckets: list[list[int]] = []
    for segment in order_by_length(lengths):
        if not buckets or lengths[segment] > _MAX_PADDING * lengths[buckets[-1][0]]:
            buckets.append([])
        buckets[-1].append(segment)
    return buckets


def _bucket(lengths: list[int], trie: LabelTrie, dtype: torch.dtype, device: torch.device) -> Bucket:
    mask = _tree_mask(lengths, trie, dtype).to(device) if trie.num_fed else None
    return Bucket(len(lengths), max(lengths), mask)


def _pad(buckets: Sequence[Sequence[int]], starts: IntArray, lengths: IntArray) -> tuple[IntArray, IntArray]:
    """Positions of the segments, padded with their last token, and the indices that undo padding and sorting."""
    padded, unpadding, offset = [_NONE], [_NONE] * len(lengths), 0
    for bucket in buckets:
        steps = np.arange(max(lengths[segment] for segment in bucket))
        for segment in bucket:
            padded.append(starts[segment] + np.minimum(steps, lengths[segment] - 1))
            unpadding[segment] = offset + np.arange(lengths[segment])
            offset += len(steps)
    return np.concatenate(padded), np.concatenate([_NONE, *unpadding])


def _tree_mask(lengths: list[int], trie: LabelTrie, dtype: torch.dtype) -> Tensor:
    """0 where a token attends, -inf elsewhere: queries are causal; a trie node attends to query, ancestors and itself.

    Padding tokens attend to the whole segment; their output is not read.
    """
    longest = max(lengths)
    allowed = np.tril(np.ones((len(lengths), longest, longest), bool))
    ancestry = np.array(list(_ancestry(trie)))  # [nodes fed, nodes fed]
    for index, length in enumerate(lengths):
        query_end = length - trie.num_fed
        allowed[index, query_end:length, query_end:length] = ancestry
    mask = torch.zeros(allowed.shape, dtype=dtype).masked_fill(torch.from_numpy(~allowed), float("-inf"))
    return mask.unsqueeze(1)


def _ancestry(trie: LabelTrie) -> Iterator[list[bool]]:
    for node in range(1, trie.num_nodes):
        path = set(trie.path(node))
        yield [other in path for other in range(1, trie.num_nodes)]


def _end_to_end(
    kernel: AttendSequences, groups: Sequence[GroupSpan], row: _FlatRow, trie: LabelTrie, device: torch.device
) -> EndToEnd:
    """The layout for a kernel that takes concatenated sequences, in the order of the row."""
    prefixes = {g.prefix_start: g.prefix_length for g in groups if g.prefix_start is not None and g.prefix_length}
    spans = prefixes if trie.num_fed else prefixes | dict(zip(row.starts, row.lengths, strict=True))
    own = [spans[start] for start in sorted(spans)]
    seeing = [group for group in groups if group.prefix_length and group.num_suffix_tokens]
    branching = (
        (
            _positions(list(prefixes.items()), device),
            _positions(list(zip(row.starts, row.lengths, strict=True)), device),
        )
        if trie.num_fed
        else None
    )
    return EndToEnd(
        kernel,
        Sequences.of(own, own, device),
        branching,
        Sequences.of([g.num_suffix_tokens for g in seeing], [g.prefix_length for g in seeing], device),
        _positions([(g.suffix_start, g.num_suffix_tokens) for g in seeing], device),
    )


def _positions(spans: Sequence[tuple[int, int]], device: torch.device) -> Tensor:
    """Positions of the tokens of spans (start, length), concatenated."""
    steps = [np.arange(start, start + length) for start, length in spans]
    return torch.from_numpy(np.concatenate([_NONE, *steps])).to(device)
