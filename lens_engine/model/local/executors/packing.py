"""The plan of forwards: which tokens go into which forward, as a pure function of lengths and a budget.

The work is one stream: prefix 0, its queries, prefix 1, its queries, and so on. The stream is cut into
forwards between segments, so nothing is padded and nothing is fed twice. A prefix whose queries continue
in the next forward is kept, not fed again. Within a group the queries are sorted by length, so that
neighbours have similar lengths. Equal arguments give equal forwards, and so equal bits.

A long prefix may have its own forward. Then the bits of its keys and values do not depend on its queries,
and the keys and values held from an earlier call can replace feeding it again.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Group:
    """Part of one forward: a prefix and some of its queries, as indices."""

    prefix: int
    queries: tuple[int, ...]
    feeds_prefix: bool  #: whether this forward feeds the prefix; otherwise an earlier one did
    keeps_prefix: bool  #: whether a later forward has more queries of the prefix


@dataclass(frozen=True, slots=True)
class Forward:
    """One run of the model over `num_tokens` tokens."""

    groups: tuple[Group, ...]
    num_tokens: int


def plan(
    prefix_lengths: Sequence[int],
    query_lengths: Sequence[int],
    budget: int,
    *,
    tail: int = 0,
    alone_from: int | None = None,
    held: AbstractSet[int] = frozenset(),
) -> tuple[Forward, ...]:
    """Cut the work of scoring every prefix with every query into forwards.

    Args:
        prefix_lengths: tokens of each prefix; 0 for an empty one.
        query_lengths: tokens of each query.
        budget: largest forward (tokens). A longer segment has its own forward.
        tail: tokens of the label trie, fed after each query.
        alone_from: least length (tokens) of a prefix that has its own forward; None: no prefix has one.
        held: the long prefixes whose keys and values are held, so that they are not fed.
    """
    stream = _Stream(prefix_lengths, query_lengths, tail, alone_from)
    alone = [index for index in np.flatnonzero(stream.is_alone).tolist() if index not in held and query_lengths]
    forwards: list[Forward] = []
    start = 0
    while start < stream.num_segments:
        end = stream.cut(start, budget)
        while alone and stream.rows[alone[0]] <= end:
            prefix = alone.pop(0)
            group = Group(prefix, (), feeds_prefix=True, keeps_prefix=True)
            forwards.append(Forward((group,), prefix_lengths[prefix]))
        forwards.append(Forward(tuple(stream.group(start, end)), stream.count_tokens(start, end)))
        start = end
    return tuple(forwards)


def order_by_length(lengths: Sequence[int]) -> list[int]:
    """Indices, shortest first; equal lengths keep their order."""
    return sorted(range(len(lengths)), key=lambda index: lengths[index])


def ideal_tokens(prefix_lengths: Sequence[int], query_lengths: Sequence[int], *, tail: int = 0) -> int:
    """Tokens of each prefix once and each (prefix, query) suffix once: the least that any executor can feed."""
    return sum(prefix_lengths) + len(prefix_lengths) * (sum(query_lengths) + tail * len(query_lengths))


class _Stream:
    """All segments in the order of the work: each prefix, unless it goes alone, and then its queries, shortest first.

    Sums of lengths are made once for the whole stream, so that a forward is cut by a search and not token by token.
    """

    def __init__(
        self, prefix_lengths: Sequence[int], query_lengths: Sequence[int], tail: int, alone_from: int | None
    ) -> None:
        self._order = order_by_length(query_lengths)
        prefixes = np.array(prefix_lengths, np.int64)
        suffixes = np.array([query_lengths[query] + tail for query in self._order], np.int64)
        self.is_alone = np.zeros(len(prefixes), bool) if alone_from is None else prefixes >= alone_from
        lengths = np.hstack([prefixes[:, None], np.tile(suffixes, (len(prefixes), 1))])  # [prefixes, 1 + queries]
        is_fed = np.full(lengths.shape, len(self._order) > 0)
        is_fed[self.is_alone, 0] = False
        self._sums = np.concatenate([[0], np.cumsum(lengths[is_fed])])  # tokens before each segment
        #: index of the first segment of each prefix, and the number of segments
        self.rows: list[int] = np.concatenate([[0], np.cumsum(is_fed.sum(axis=1))]).tolist()

    @property
    def num_segments(self) -> int:
        return len(self._sums) - 1

    def count_tokens(self, start: int, end: int) -> int:
        return int(self._sums[end] - self._sums[start])

    def cut(self, start: int, budget: int) -> int:
        """End of the forward that begins at `start`: as many segments as fit, and at least one that has tokens."""
        before = self._sums[start]
        fitting = np.searchsorted(self._sums, before + budget, side="right") - 1
        least = np.searchsorted(self._sums, before, side="right")
        return min(int(max(fitting, least)), self.num_segments)

    def group(self, start: int, end: int) -> Iterator[Group]:
        """The segments from `start` to `end` by prefix."""
        first = bisect_right(self.rows, start) - 1
        for prefix in range(first, bisect_left(self.rows, end)):
            row, next_row = self.rows[prefix], self.rows[prefix + 1]
            has_own = not self.is_alone[prefix]
            queries = self._order[max(0, start - row - has_own) : min(end, next_row) - row - has_own]
            yield Group(prefix, tuple(queries), bool(has_own and start <= row), keeps_prefix=end < next_row)
