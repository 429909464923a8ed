"""How far the chunk under way is, by the tokens that the scorer has fed: a slow machine takes minutes for a chunk."""

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


class ChunkUnderWay:
    """The chunk that a scorer without workers computes. Of other scorers nothing is known before a chunk is done."""

    def __init__(self, scorer: LabelScorer) -> None:
        computing = find_computing(scorer)
        self._scorer = computing if isinstance(computing, CountingScorer) else None
        self._cost, self._tokens, self._fed_before = Cost(), 1, 0

    def begin(self, cost: Cost, label_tokens: int) -> None:
        """
        Args:
            label_tokens: tokens that are fed after each query.
        """
        self._cost, self._tokens = cost, max(cost.tokens + cost.pairs * label_tokens, 1)
        self._fed_before = self._count_fed()

    def end(self) -> None:
        self._cost = Cost()

    @property
    def done(self) -> Cost:
        """The part of the chunk that is done, about."""
        share = min((self._count_fed() - self._fed_before) / self._tokens, _MOST_SHARE)
        return Cost(int(self._cost.pairs * share), int(self._cost.tokens * share))

    def _count_fed(self) -> int:
        return 0 if self._scorer is None else int(self._scorer.counters.fed_tokens)
