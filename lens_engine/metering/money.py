"""Money: what the requests of a run cost, and the limit on it."""

from collections.abc import Iterator
from contextlib import contextmanager

from lens_engine.metering.cost import Cost
from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.spending import Paid, find_paid_scorer

_LONGER_PROMPTS = 1.5
"""Tokens of a chosen prompt, as a multiple of those of the mean prompt, by which the reserve is priced."""


class Money:
    """What one run pays for the requests of its scorer. A scorer of a model on this machine pays nothing.

    Args:
        scorer: the model; None for a bag of words.
        max_cost: limit of the run (USD); None for no limit. It needs a scorer with prices.
    """

    def __init__(self, scorer: LabelScorer | None, label_spans: tuple[str, ...], max_cost: float | None) -> None:
        self._scorer = None if scorer is None else find_paid_scorer(scorer)
        self.label_spans = label_spans
        self._max_cost = max_cost
        self._earlier = Paid()
        self._at_start = Paid() if self._scorer is None else self._scorer.spending.paid

    @property
    def asks_server(self) -> bool:
        return self._scorer is not None

    def resume(self, paid: Paid) -> None:
        """Add what earlier attempts paid."""
        self._earlier = paid

    @property
    def paid(self) -> Paid:
        """What the run paid so far, with earlier attempts. Requests under way are not in it."""
        if self._scorer is None:
            return self._earlier
        return self._earlier + self._scorer.spending.paid - self._at_start

    def covers(self, cost: Cost, reserve: Cost) -> bool:
        """Whether the limit leaves enough for a step of this cost and the reserve, beside requests that wait."""
        if self._scorer is None or self._max_cost is None:
            return True
        ahead = self._scorer.spending.ahead
        return self.paid.usd + ahead + self._price(cost) + self._price_reserve(reserve) <= self._max_cost

    @contextmanager
    def limited(self, reserve: Cost) -> Iterator[None]:
        """A context in which no request is sent that the limit does not cover beside the reserve.

        Raises:
            BudgetSpent: by the scorer, in the block.
        """
        if self._scorer is None or self._max_cost is None:
            yield
            return
        spending = self._scorer.spending
        before = spending.limit
        spending.limit = self._at_start.usd - self._earlier.usd + self._max_cost - self._price_reserve(reserve)
        try:
            yield
        finally:
            spending.limit = before

    def least(self, cost: Cost, reserve: Cost) -> float | None:
        """The limit that covers a step of this cost and the reserve (USD), if this limit does not; None if it does."""
        if self._max_cost is None:
            return None
        needed = self._price(cost) + self._price_reserve(reserve)
        return needed if needed > self._max_cost else None

    def _price_reserve(self, reserve: Cost) -> float:
        return _LONGER_PROMPTS * self._price(reserve)

    def _price(self, cost: Cost) -> float:
        """The most that work costs (USD)."""
        if self._scorer is None or not cost.pairs:
            return 0.0
        return self._scorer.bill(cost.pairs, cost.prompt_tokens, self.label_spans).usd or 0.0
