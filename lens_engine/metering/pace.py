"""The pace of a run (tokens per second), and how far the chunk under way is, which may take minutes."""

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from lens_engine.metering.cost import Cost
from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.cache.scorer import find_computing

_MOST_SHARE = 0.99  # tokens are estimated, and a chunk is done when its scores are there


@runtime_checkable
class CountingScorer(Protocol):
    """A scorer that counts the tokens that it feeds (`counters.fed_tokens`), while it computes."""

    @property
    def counters(self) -> Any: ...


class Pace:
    """Tokens that one attempt computed, by the time. Tokens found in a cache are left out.

    Of the chunk that a scorer without workers computes, the part that is known to be done counts. Until more of it is,
    the pace stays as it is. Of other scorers nothing is known before a chunk is done.
    """

    def __init__(self, scorer: LabelScorer, clock: Callable[[], float], started: float) -> None:
        computing = find_computing(scorer)
        self._scorer = computing if isinstance(computing, CountingScorer) else None
        self._clock, self._started = clock, started
        self._computed = 0  # tokens of finished chunks
        self._chunk, self._chunk_tokens, self._fed_before = Cost(), 1, 0
        self._frozen: float | None = None
        self._frozen_tokens = 0  # of the chunk, which were done when the pace was frozen

    def begin(self, cost: Cost, label_tokens: int) -> None:
        """A chunk is under way.

        Args:
            label_tokens: tokens that are fed after each query.
        """
        self._chunk, self._chunk_tokens = cost, max(cost.tokens + cost.pairs * label_tokens, 1)
        self._fed_before = self._count_fed()

    def freeze(self) -> None:
        """Keep the pace as it is until more of the chunk is known to be done, or it would sink meanwhile."""
        self._frozen, self._frozen_tokens = None, self.done.tokens
        self._frozen = self.per_second

    def refresh(self) -> None:
        """Take the pace anew if more of the chunk is known to be done."""
        if self.done.tokens > self._frozen_tokens:
            self.freeze()

    def end(self) -> None:
        """No chunk is under way, whether it was finished or stopped."""
        self._chunk, self._frozen, self._frozen_tokens = Cost(), None, 0

    def count(self, tokens: int) -> None:
        """Count what was computed, and not found in a cache."""
        self._computed += tokens

    @property
    def done(self) -> Cost:
        """The part of the chunk under way that is done, about."""
        share = min((self._count_fed() - self._fed_before) / self._chunk_tokens, _MOST_SHARE)
        return Cost(int(self._chunk.pairs * share), int(self._chunk.tokens * share))

    @property
    def per_second(self) -> float | None:
        """Tokens per second; None before anything was computed."""
        if self._frozen is not None:
            return self._frozen
        elapsed = self._clock() - self._started
        done = self._computed + self.done.tokens
        return done / elapsed if done > 0 and elapsed > 0 else None

    def _count_fed(self) -> int:
        return 0 if self._scorer is None else int(self._scorer.counters.fed_tokens)
