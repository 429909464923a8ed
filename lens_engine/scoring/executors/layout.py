"""Where everything stands in one packed forward: token ids, positions, segments and label positions."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lens_engine.scoring.executors.base import Workload
from lens_engine.scoring.labels import LabelTrie
from lens_engine.scoring.packing import Forward

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class GroupSpan:
    """One group's place in the flat row, as [start, end) of token positions."""

    prefix_length: int
    prefix_start: int | None  #: None if an earlier forward fed the prefix
    suffix_start: int  #: among all tokens of the row
    suffix_end: int
    suffix_offset: int  #: among suffix tokens only
    keeps_prefix: bool

    @property
    def num_suffix_tokens(self) -> int:
        return self.suffix_end - self.suffix_start


@dataclass(slots=True)
class PackedLayout:
    """What the attention function has to know of one forward; the model hands it through."""

    groups: tuple[GroupSpan, ...]
    padded_positions: Tensor  #: position of each suffix token, segments padded to one length  # [segments * longest]
    num_segments: int
    unpadding: Tensor  #: where each suffix token stands in `padded_positions`  # [suffix tokens]
    mask: Tensor | None  #: [segments, 1, longest, longest], added to scores; None if causal will do
    kept: dict[int, tuple[Tensor, Tensor]]  #: keys and values, by call, of a prefix fed in an earlier forward
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
    kept: dict[int, tuple[Tensor, Tensor]],
) -> PackedInputs:
    """Place the tokens of `forward` one after another, in the order of its groups."""
    row = _FlatRow(work)
    groups = []
    for group in forward.groups:
        prefix = work.prefixes[group.prefix]
        prefix_start = row.append(prefix, 0) if group.feeds_prefix else None
        suffix_start, suffix_offset = len(row.ids), sum(row.lengths)
        for query in group.queries:
            row.append_suffix(group.prefix, query)
        span = GroupSpan(len(prefix), prefix_start, suffix_start, len(row.ids), suffix_offset, group.keeps_prefix)
        groups.append(span)
    padded, unpadding = _pad(row.starts, row.lengths)
    layout = PackedLayout(
        groups=tuple(groups),
        padded_positions=torch.from_numpy(padded).to(device),
        num_segments=len(row.lengths),
        unpadding=torch.from_numpy(unpadding).to(device),
        mask=_tree_mask(row.lengths, work.trie, dtype).to(device) if work.trie.num_fed and row.lengths else None,
        kept=kept,
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


def _pad(starts: list[int], lengths: list[int]) -> tuple[IntArray, IntArray]:
    """Positions of segments padded on the right with their own last token, and the way back."""
    if not lengths:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    longest = max(lengths)
    offsets = np.arange(longest)
    ends = np.array(lengths)[:, None]
    padded = np.array(starts)[:, None] + np.minimum(offsets, ends - 1)  # [segments, longest]
    return padded.ravel(), np.flatnonzero(offsets < ends)


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
