"""Prices: the cost of each piece of a run, from the sizes of its splits and the lengths of its segments.

Pure arithmetic. `Method.price` adds up these prices for a whole method.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from lens_engine.config import SearchOptions, SelectionConfig
from lens_engine.metering.cost import Cost
from lens_engine.plan.comparisons import COMPARISONS
from lens_engine.plan.rounds import FilterRound, plan_rounds
from lens_engine.plan.rungs import Rung, plan_rungs
from lens_engine.rows.fit_rows import count_fit_rows
from lens_engine.rows.splits import SplitRows


@dataclass(frozen=True, slots=True)
class TokenLengths:
    """Mean number of tokens of a rendered demonstration and of a rendered query."""

    demonstration: float
    query: float

    @classmethod
    def from_counts(cls, demonstrations: Sequence[int], queries: Sequence[int]) -> "TokenLengths":
        return cls(sum(demonstrations) / max(len(demonstrations), 1), sum(queries) / max(len(queries), 1))


@dataclass(frozen=True)
class Prices:
    """The price of each piece of a run on these rows, with these options."""

    rows: SplitRows
    config: SelectionConfig
    lengths: TokenLengths

    @property
    def rounds(self) -> list[FilterRound]:
        return plan_rounds(len(self.rows.candidates), self.config.filtering, len(self.rows.score_set))

    @property
    def comparison_rows(self) -> int:
        """Number of test rows for random permutations and other orders."""
        return len(self.rows.test[: COMPARISONS[self.config.comparisons].most_rows])

    def judging(self, permutations: int, num_rows: int, demonstrations: int | None = None) -> Cost:
        """`permutations` permutations on `num_rows` rows each.

        `demonstrations` is the number of demonstrations in a prompt; None for `config.num_demonstrations`.
        """
        n = self.config.num_demonstrations if demonstrations is None else demonstrations
        tokens = permutations * (n * self.lengths.demonstration + num_rows * self.lengths.query)
        return Cost(permutations * num_rows, round(tokens))

    def validating(self, permutations: int) -> Cost:
        """Each permutation on every validation row."""
        return self.judging(permutations, len(self.rows.validation))

    def filtering(self) -> Cost:
        """Stage 1, all rounds."""
        return sum((self.filtering_round(plan) for plan in self.rounds if plan.new_columns), Cost())

    def filtering_round(self, plan: FilterRound) -> Cost:
        """One round: zero-shot and one-shot pairs."""
        queries = plan.new_columns
        return self.judging(1, queries, demonstrations=0) + self.judging(plan.candidates, queries, demonstrations=1)

    def searching(self) -> Cost:
        """Stage 2 if no permutation repeats: the first permutations, and the children of each iteration."""
        rungs = plan_judging(self.config.search, len(self.rows.validation))
        return sum((self.judging(rung.permutations, rung.end - rung.start) for rung in rungs), Cost())

    def confirming(self, permutations: int) -> Cost:
        """Each permutation on every confirmation row."""
        num_rows = len(self.rows.confirmation)
        return self.judging(permutations, num_rows) if num_rows else Cost()

    def testing(self, demonstrations: int | None = None) -> Cost:
        """One prompt on every test row."""
        return self.judging(1, len(self.rows.test), demonstrations)

    def classifying(self, prompts: int, new_fit_rows: int, demonstrations: int | None = None) -> Cost:
        """Each prompt on fit rows that were not scored before, and on the test rows."""
        num_rows = new_fit_rows + len(self.rows.test)
        return self.judging(prompts, num_rows, demonstrations=demonstrations)

    def fit_rows(self, num_demonstrations: int, total: int | None = None) -> int:
        """Number of rows on which a head is fitted, after prompts with this many different demonstrations."""
        return count_fit_rows(
            self.rows, num_demonstrations, self.config.classifier.fit_rows if total is None else total
        )

    def comparing(self, permutations: int) -> Cost:
        """Random permutations or other orders, on the comparison rows."""
        return self.judging(permutations, self.comparison_rows)

    def rivalling(self, permutations: int) -> Cost:
        """Random-and-validation: each permutation on the validation rows, and the best on the test rows."""
        return self.validating(permutations) + self.testing()

    def rival_permutations(self, pairs: int, confirmed: int) -> int:
        """Number of random permutations for `pairs` (permutation, row) pairs and the confirmation's, rounded up.

        A permutation that halving drops counts with the rows it was judged on.
        """
        pairs += confirmed * len(self.rows.confirmation)
        return -(-pairs // len(self.rows.validation))


def plan_judging(search: SearchOptions, num_rows: int) -> list[Rung]:
    """The rungs of a full search on the validation rows: the first permutations, then each iteration's children."""
    plan = partial(plan_rungs, num_rows=num_rows, halvings=search.halvings, least=search.beam_width)
    return plan(search.num_first_permutations) + search.iterations * plan(search.num_children)


def count_pairs(search: SearchOptions, num_rows: int) -> int:
    """Number of (permutation, row) pairs of a full search, as the budget counts them."""
    return sum(rung.pairs for rung in plan_judging(search, num_rows))
