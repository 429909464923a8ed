"""The plan of forwards: which tokens go into which forward, as a pure function of lengths and a budget.

The work is one stream: prefix 0, its queries, prefix 1, its queries, and so on. The stream is cut into
forwards between segments, so nothing is padded and nothing is fed twice. A prefix whose queries continue
in the next forward is kept, not fed again. Within a group the queries are sorted by length, so that
neighbours have similar lengths. Equal arguments give equal forwards, and so equal bits.

A long prefix may have its own forward. Then the bits of its keys and values do not depend on its queries,
and the keys and values held from an earlier call can replace feeding it again.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass


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


@dataclass(frozen=True, slots=True)
class _Segment:
    prefix: int
    query: int | None  #: None for the segment of the prefix itself
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
    forwards: list[Forward] = []
    pending: list[_Segment] = []
    num_pending = 0
    for segment in _stream(prefix_lengths, query_lengths, tail):
        if segment.query is None and alone_from is not None and segment.num_tokens >= alone_from:
            if segment.prefix not in held:
                group = Group(segment.prefix, (), feeds_prefix=True, keeps_prefix=True)
                forwards.append(Forward((group,), segment.num_tokens))
            continue
        if num_pending and num_pending + segment.num_tokens > budget:
            forwards.append(_close(pending, num_pending, continued=segment))
            pending, num_pending = [], 0
        pending.append(segment)
        num_pending += segment.num_tokens
    if pending:
        forwards.append(_close(pending, num_pending, continued=None))
    return tuple(forwards)


def order_by_length(lengths: Sequence[int]) -> list[int]:
    """Indices, shortest first; equal lengths keep their order."""
    return sorted(range(len(lengths)), key=lambda index: lengths[index])


def ideal_tokens(prefix_lengths: Sequence[int], query_lengths: Sequence[int], *, tail: int = 0) -> int:
    """Tokens of each prefix once and each (prefix, query) suffix once: the least that any executor can feed."""
    return sum(prefix_lengths) + len(prefix_lengths) * (sum(query_lengths) + tail * len(query_lengths))


def _stream(prefix_lengths: Sequence[int], query_lengths: Sequence[int], tail: int) -> Iterator[_Segment]:
    order = order_by_length(query_lengths)
    for prefix, length in enumerate(prefix_lengths):
        if not order:
            return
        yield _Segment(prefix, None, length)
        for query in order:
            yield _Segment(prefix, query, query_lengths[query] + tail)


def _close(segments: Sequence[_Segment], num_tokens: int, continued: _Segment | None) -> Forward:
    """A forward of `segments`; `continued` is the segment that comes next in the stream."""
    prefixes = dict.fromkeys(segment.prefix for segment in segments)
    groups = tuple(
        Group(
            prefix=prefix,
            queries=tuple(s.query for s in segments if s.prefix == prefix and s.query is not None),
            feeds_prefix=any(s.prefix == prefix and s.query is None for s in segments),
            keeps_prefix=continued is not None and continued.query is not None and continued.prefix == prefix,
        )
        for prefix in prefixes
    )
    return Forward(groups, num_tokens)
