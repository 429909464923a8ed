"""Where everything stands in one packed forward: token ids, positions, segments and label positions."""

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
"""Attention is quadratic in length: a quarter more length is half more work. But each bucket is a call of its own."""


@dataclass(frozen=True, slots=True)
class GroupSpan:
    """One group's place in the flat row, as [start, end) of token positions."""

    prefix_length: int
    prefix_start: int | None  #: None if an earlier forward fed the prefix
    suffix_start: int  #: among all tokens of the row
    suffix_end: int
    suffix_offset: int  #: among suffix tokens only
    keeps_prefix: bool
    kept: KeyValues  #: of a prefix that an earlier forward fed, or that a later one needs

    @property
    def num_suffix_tokens(self) -> int:
        return self.suffix_end - self.suffix_start


@dataclass(frozen=True, slots=True)
class Bucket:
    """Segments of like length, padded to the longest of them for their own attention pass."""

    num_segments: int
    longest: int
    mask: Tensor | None  #: [segments, 1, longest, longest], added to scores; None if causal will do


@dataclass(frozen=True, slots=True)
class EndToEnd:
    """The same forward for a kernel that takes sequences end to end, and pads nothing."""

    kernel: AttendSequences
    own: Sequences  #: prefixes and segments of the row, each over itself; prefixes only where `branching` is set
    branching: tuple[Tensor, Tensor] | None  #: positions of prefix and of segment tokens, if a label trie is fed
    to_prefixes: Sequences  #: each group's suffix tokens over its prefix; groups without a prefix are left out
    suffix_positions: Tensor  #: of the suffix tokens that have a prefix


@dataclass(slots=True)
class PackedLayout:
    """What the attention function has to know of one forward; the model hands it through."""

    groups: tuple[GroupSpan, ...]
    buckets: tuple[Bucket, ...]  #: all segments, those of like length together
    padded_positions: Tensor  #: position of each token of the buckets' padded segments, bucket after bucket
    unpadding: Tensor  #: where each suffix token stands in `padded_positions`  # [suffix tokens]
    end_to_end: EndToEnd | None = None  #: where there is a kernel for it
    num_calls: int = field(default=0)  #: of the attention function in this forward


@dataclass(frozen=True, slots=True)
class PackedInputs:
    """One forward: what the model is given, and where to read."""

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
    """Place the tokens of `forward` one after another, in the order of its groups.

    `kept` has the keys and values of prefixes fed before, by prefix; the forward adds those it keeps.
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
    """Token after token, with the segments' places on the side."""

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
        """A query, then the label trie's nodes, each at the position its depth gives it."""
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
    """Segments by length, a new bucket wherever padding to the longest would add too much to the shortest."""
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
    """Positions of the buckets' segments, each padded with its own last token, and the way back to the row's order."""
    padded, unpadding, offset = [_NONE], [_NONE] * len(lengths), 0
    for bucket in buckets:
        steps = np.arange(max(lengths[segment] for segment in bucket))
        for segment in bucket:
            padded.append(starts[segment] + np.minimum(steps, lengths[segment] - 1))
            unpadding[segment] = offset + np.arange(lengths[segment])
            offset += len(steps)
    return np.concatenate(padded), np.concatenate([_NONE, *unpadding])


def _tree_mask(lengths: list[int], trie: LabelTrie, dtype: torch.dtype) -> Tensor:
    """0 where a token may look, -inf elsewhere: queries causally, a trie node at the query, its ancestors and itself.

    Padded tokens look at the whole segment; what they give is not read.
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
    """Sequences in the order of the row."""
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
    """The tokens of spans (start, length), one after another."""
    steps = [np.arange(start, start + length) for start, length in spans]
    return torch.from_numpy(np.concatenate([_NONE, *steps])).to(device)
