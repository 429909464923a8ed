"""What a run will cost, before it starts: forwards, tokens and seconds."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from lens_engine.config import SearchOptions, SelectionConfig
from lens_engine.plan.rounds import FilterRound, plan_rounds
from lens_engine.plan.rungs import Rung, plan_rungs
from lens_engine.rows.splits import SplitRows
from lens_engine.types import Phase

_FINE_TUNING_READS = 3 * 5 + 2
"""Five epochs of training, and the rows read twice for their gradients and features, in forwards over all rows."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Forwards (prefix-query pairs) and tokens: each prefix once a call, with each of its queries.

    A prefix that is held between calls, and what a pair cache knows, count all the same: they depend on the run alone.
    """

    forwards: int = 0
    tokens: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.forwards + other.forwards, self.tokens + other.tokens)


@dataclass(frozen=True, slots=True)
class TokenLengths:
    """Mean tokens of a rendered demonstration and of a rendered query."""

    demonstration: float
    query: float

    @classmethod
    def from_counts(cls, demonstrations: Sequence[int], queries: Sequence[int]) -> "TokenLengths":
        return cls(sum(demonstrations) / max(len(demonstrations), 1), sum(queries) / max(len(queries), 1))


@dataclass(frozen=True)
class CostEstimate:
    """The cost of each phase when every permutation is judged on every row.

    The forwards are an upper bound: children that repeat cost none, and those that are eliminated less. A race that
    can drop nobody feeds some prefixes again, so the tokens may come out higher, but not by much.
    """

    phases: dict[Phase, Cost]
    permutations_evaluated: int
    seconds: float | None

    @property
    def total(self) -> Cost:
        return sum(self.phases.values(), Cost())

    def seconds_of(self, phase: Phase) -> float | None:
        """A phase's share of the seconds, by its tokens."""
        return None if self.seconds is None else self.seconds * self.phases[phase].tokens / max(self.total.tokens, 1)


@dataclass(frozen=True)
class Planner:
    """Prices a run from the sizes of its splits and the mean lengths of its segments."""

    rows: SplitRows
    config: SelectionConfig
    lengths: TokenLengths

    @property
    def rounds(self) -> list[FilterRound]:
        return plan_rounds(len(self.rows.candidates), self.config.filtering, len(self.rows.score_set))

    @property
    def comparison_rows(self) -> int:
        return min(len(self.rows.test), self.config.report.comparison_rows or len(self.rows.test))

    def judging(self, permutations: int, num_rows: int, *, calibrated: bool, demonstrations: int | None = None) -> Cost:
        """So many permutations on so many rows; with calibration, one content-free query more each."""
        own = 0 if self.config.method == "zero_shot" else self.config.num_demonstrations
        n = own if demonstrations is None else demonstrations
        queries = num_rows + calibrated
        tokens = permutations * (n * self.lengths.demonstration + queries * self.lengths.query)
        return Cost(permutations * queries, round(tokens))

    def validating(self, permutations: int) -> Cost:
        """So many permutations, each on every validation row."""
        return self.judging(permutations, len(self.rows.validation), calibrated=self.config.calibrated_search)

    def filtering(self) -> Cost:
        cost = Cost()
        for plan in self.rounds:
            if plan.new_columns:
                cost = cost + self.filtering_round(plan)
        return cost

    def filtering_round(self, plan: FilterRound) -> Cost:
        """Zero-shot and one-shot; with calibration, one content-free query more for each prefix."""
        queries = plan.new_columns + self.config.filtering.calibrated
        zero_shot = self.judging(1, plan.new_columns, calibrated=self.config.filtering.calibrated, demonstrations=0)
        tokens = plan.candidates * (self.lengths.demonstration + queries * self.lengths.query)
        return zero_shot + Cost(plan.candidates * queries, round(tokens))

    def fine_tuning(self) -> Cost:
        """Tokens as scoring them would take as long: training reads forward and back, three times the work."""
        rows, validation = len(self.rows.candidates), len(self.rows.validation)
        return Cost(0, round((rows * _FINE_TUNING_READS + validation) * self.lengths.query))

    def searching(self) -> Cost:
        num_rows, calibrated = len(self.rows.validation), self.config.calibrated_search
        cost = Cost()
        for rung in plan_judging(self.config.search, num_rows):
            is_first = rung.start == 0
            cost += self.judging(rung.permutations, rung.end - rung.start, calibrated=calibrated and is_first)
        return cost

    def choosing(self) -> dict[Phase, Cost]:
        """Everything before the evaluation."""
        match self.config.method:
            case "lens":
                return {Phase.FILTER: self.filtering(), Phase.SEARCH: self.searching()}
            case "zero_shot" | "random":
                return {}
            case "random_and_validation":
                return {Phase.SEARCH: self.validating(self.random_permutations)}
            case _:
                return {Phase.FINE_TUNE: self.fine_tuning()}

    @property
    def first_step(self) -> Cost:
        """The least that has to be paid before there is a permutation to test."""
        if self.config.method == "lens":
            return self.filtering_round(self.rounds[0])
        if self.config.method == "random_and_validation":
            return self.validating(1)
        return Cost()

    @property
    def random_permutations(self) -> int:
        """Permutations of the method random_and_validation."""
        return self.config.random_search.permutations or self.rival_permutations(
            count_pairs(self.config.search, len(self.rows.validation)),
            self.config.search.beam_width if self.rows.confirmation else 0,
        )

    def confirming(self) -> Cost:
        if self.config.method != "lens":
            return Cost()
        beam, num_rows = self.config.search.beam_width, len(self.rows.confirmation)
        return self.judging(beam, num_rows, calibrated=self.config.calibrated_search) if num_rows else Cost()

    def testing(self, demonstrations: int | None = None) -> Cost:
        calibrated = self.config.report.calibrated
        return self.judging(1, len(self.rows.test), calibrated=calibrated, demonstrations=demonstrations)

    def comparing(self, permutations: int) -> Cost:
        """Random permutations or other orders, on the comparison rows."""
        calibrated, n = self.config.report.calibrated, self.config.num_demonstrations
        return self.judging(permutations, self.comparison_rows, calibrated=calibrated, demonstrations=n)

    def rivalling(self, permutations: int) -> Cost:
        """Random-and-validation: so many permutations on the validation rows, and the best on the test rows."""
        return self.validating(permutations) + self.testing()

    def rival_permutations(self, pairs: int, confirmed: int) -> int:
        """As many random permutations as make the (permutation, row) pairs equal, confirmation counted.

        A permutation that a race drops counts as judged on every row, on both sides: the rival tries as many. One
        that is halved away counts for the rows it was judged on.
        """
        pairs += confirmed * len(self.rows.confirmation)
        return -(-pairs // len(self.rows.validation))

    def evaluating(self) -> Cost:
        report, search = self.config.report, self.config.search
        cost = self.confirming() + self.testing() + self.testing(demonstrations=0)
        orders = 0 if self.config.method == "zero_shot" else report.order_shuffles
        cost = cost + self.comparing(report.random_permutations) + self.comparing(orders)
        if self.config.has_rival:
            rivals = self.rival_permutations(count_pairs(search, len(self.rows.validation)), search.beam_width)
            cost = cost + self.rivalling(rivals)
        return cost

    def estimate(self, tokens_per_second: float | None = None) -> CostEstimate:
        """The whole run; seconds when a pace is known."""
        phases = {**self.choosing(), Phase.EVALUATE: self.evaluating()}
        total = sum(phases.values(), Cost())
        seconds = total.tokens / tokens_per_second if tokens_per_second else None
        return CostEstimate(phases, self._evaluations, seconds)

    @property
    def _evaluations(self) -> int:
        if self.config.method == "lens":
            return count_evaluations(self.config.search)
        return self.random_permutations if self.config.method == "random_and_validation" else 0


def count_evaluations(search: SearchOptions) -> int:
    """Permutations a full search evaluates, in whole or in part: the first ones, and every child of every iteration."""
    return search.num_first_permutations + search.iterations * search.num_children


def plan_judging(search: SearchOptions, num_rows: int) -> list[Rung]:
    """How a full search judges on the validation rows: the first permutations, then each iteration's children."""
    plan = partial(plan_rungs, num_rows=num_rows, halvings=search.halvings, least=search.beam_width)
    return plan(search.num_first_permutations) + search.iterations * plan(search.num_children)


def count_pairs(search: SearchOptions, num_rows: int) -> int:
    """(permutation, row) pairs of a full search, as a budget counts them."""
    return sum(rung.pairs for rung in plan_judging(search, num_rows))
