"""What ends a run: a budget of pairs, seconds and money (USD), and the moments that the operator sets."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from lens_engine.config import BudgetOptions
from lens_engine.metering.prices import Cost
from lens_engine.model.base import LabelScorer
from lens_engine.model.spending import Paid
from lens_engine.types import StopReason

_MOST_OVERTIME = 2.0
"""Time in which work that no budget leaves out may end, as a multiple of the budget of seconds."""

_LONGER_PROMPTS = 1.5
"""Tokens of a chosen prompt, as a multiple of those of the mean prompt, by which the reserve is priced."""

NO_COST = Cost()


class Stopped(Exception):
    """Raised when the budget is used up, between chunks, or when the listener asks for a stop."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason)
        self.reason = reason


class Money:
    """What one run pays for the requests of its scorer. A scorer of a model on this machine pays nothing.

    Args:
        scorer: the model; None for a bag of words.
        max_cost: limit of the run (USD); None for no limit. It needs a scorer with prices.
    """

    def __init__(self, scorer: LabelScorer | None, label_spans: tuple[str, ...], max_cost: float | None) -> None:
        self._scorer, self._spending = scorer, None if scorer is None else scorer.spending
        self.label_spans = label_spans
        self._max_cost = max_cost
        self._earlier = Paid()
        self._at_start = Paid() if self._spending is None else self._spending.paid

    def resume(self, paid: Paid) -> None:
        """Add what earlier attempts paid."""
        self._earlier = paid

    @property
    def paid(self) -> Paid:
        """What the run paid so far, with earlier attempts. Requests under way are not in it."""
        if self._spending is None:
            return self._earlier
        return self._earlier + self._spending.paid - self._at_start

    def covers(self, cost: Cost, reserve: Cost) -> bool:
        """Whether the limit leaves enough for a step of this cost and the reserve, beside requests that wait."""
        if self._spending is None or self._max_cost is None:
            return True
        return self.paid.usd + self._spending.ahead + self._price(cost) + self._price_reserve(reserve) <= self._max_cost

    @contextmanager
    def limited(self, reserve: Cost) -> Iterator[None]:
        """A context in which the scorer raises BudgetSpent where the limit does not cover a request and the reserve."""
        spending = self._spending
        if spending is None or self._max_cost is None:
            yield
            return
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


@dataclass
class Limits:
    """The limits of a run, and what they leave."""

    budget: BudgetOptions
    money: Money
    clock: Callable[[], float]
    started: float  #: value of `clock`
    deadline: float | None = None  #: value of `clock`; ends the run as a budget does, and is no option of the run
    last_moment: float | None = None  #: value of `clock`; ends also the work that no budget leaves out
    reserve: Cost = NO_COST  #: kept for the test rows
    seconds_before: float = 0.0  #: of earlier attempts
    met_deadline: bool = field(init=False, default=False)  #: whether work was left out for the deadline alone
    _ignores_budget: bool = field(init=False, default=False)

    @property
    def seconds(self) -> float:
        """Time of the run, with earlier attempts (seconds)."""
        return self.seconds_before + self.clock() - self.started

    @contextmanager
    def beyond_budget(self) -> Iterator[None]:
        """A context in which the budget does not stop the run.

        A cancellation still does, and so do twice the budget of seconds and the last moment.
        """
        self._ignores_budget = True
        try:
            yield
        finally:
            self._ignores_budget = False

    def afford(
        self, spent: Cost, cost: Cost, pace: float | None, *, is_chunk: bool = False, taken: Cost = NO_COST
    ) -> bool:
        """Whether the limits leave enough for a step of this cost, for the reserve and for chunks that the scorer took.

        A chunk is afforded in the first half of a time limit, whatever the pace: the first are slow.
        """
        if self._ignores_budget:
            return not self._is_overdue()
        ahead, most = taken + cost + self.reserve, self.budget.max_pairs
        return (
            (most is None or spent.pairs + ahead.pairs <= most)
            and self._cover_seconds(ahead.tokens, pace, is_chunk=is_chunk)
            and self.money.covers(cost, self.reserve)  # it knows the requests that wait
        )

    def is_late(self, pace: float | None) -> bool:
        """Whether the chunk under way must end now."""
        if self._ignores_budget:
            return self._is_overdue()
        return not self._cover_seconds(self.reserve.tokens, pace, is_chunk=True)

    def cut_seconds(self, seconds: float) -> float:
        """A time cut to what the budget of seconds and the deadline leave."""
        left = [seconds]
        if self.budget.max_seconds is not None:
            left.append(self.budget.max_seconds - self.seconds)
        if self.deadline is not None:
            left.append(self.deadline - self.clock())
        return max(min(left), 0.0)

    def _is_overdue(self) -> bool:
        """Whether work that no budget leaves out has taken the time limit once more, or its last moment is over."""
        limit = self.budget.max_seconds
        if limit is not None and self.seconds > _MOST_OVERTIME * limit:
            return True
        is_over = self.last_moment is not None and self.clock() > self.last_moment
        self.met_deadline |= is_over
        return is_over

    def _cover_seconds(self, tokens: int, pace: float | None, *, is_chunk: bool) -> bool:
        limit, needed = self.budget.max_seconds, tokens / pace if pace else 0.0
        if limit is not None and not _fits(self.seconds, needed, limit, is_chunk=is_chunk):
            return False
        if self.deadline is None:
            return True
        fits = _fits(self.clock() - self.started, needed, self.deadline - self.started, is_chunk=is_chunk)
        self.met_deadline |= not fits
        return fits


def _fits(elapsed: float, needed: float, limit: float, *, is_chunk: bool) -> bool:
    return elapsed + needed <= limit or (is_chunk and elapsed < limit / 2)
