"""What the requests of an evaluation or a prediction cost, and the limit of the operator on it."""

from dataclasses import dataclass
from typing import Self

from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.spending import PaidScorer, find_paid_scorer


@dataclass(frozen=True, slots=True)
class Purse:
    """The cost of one job, over all of its attempts. A model on the machine of the worker costs nothing."""

    scorer: PaidScorer | None
    earlier_usd: float  #: of earlier attempts
    at_start_usd: float

    @classmethod
    def open(cls, scorer: LabelScorer | None, earlier_usd: float, most_usd: float | None) -> Self:
        """Limit what the scorer spends to what the job may cost, less what earlier attempts paid.

        Args:
            most_usd: what the job may cost (USD); None for no limit, or a server without prices.
        """
        paid = None if scorer is None else find_paid_scorer(scorer)
        if paid is None:
            return cls(None, earlier_usd, 0.0)
        at_start = paid.spending.paid.usd
        if most_usd is not None and paid.spending.prices is not None:
            paid.spending.limit = at_start + max(most_usd - earlier_usd, 0.0)
        return cls(paid, earlier_usd, at_start)

    @property
    def paid_usd(self) -> float:
        """What the job cost so far (USD)."""
        own = 0.0 if self.scorer is None else self.scorer.spending.paid.usd - self.at_start_usd
        return self.earlier_usd + own
