"""Tokenises many segments with a beat now and then."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from lens_engine.liveness.beat import with_beats

_BATCH_CHARACTERS = 100_000
"""Characters tokenised between two beats: some tenths of a second on a slow processor."""


class TokenCounter(Protocol):
    """The part of a `LabelScorer` that tokenises."""

    def count_tokens(self, segments: Sequence[str]) -> list[int]: ...


def count_tokens(counter: TokenCounter, segments: Sequence[str]) -> list[int]:
    """Number of tokens of each segment, as `LabelScorer.count_tokens`, with a beat before each batch."""
    return [count for batch in with_beats(_cut(segments)) for count in counter.count_tokens(batch)]


def _cut(segments: Sequence[str]) -> Iterator[Sequence[str]]:
    """Consecutive segments with at most `_BATCH_CHARACTERS` together; each batch has at least one."""
    start = characters = 0
    for index, segment in enumerate(segments):
        if index > start and characters + len(segment) > _BATCH_CHARACTERS:
            yield segments[start:index]
            start, characters = index, 0
        characters += len(segment)
    if start < len(segments):
        yield segments[start:]
