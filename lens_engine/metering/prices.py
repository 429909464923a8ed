"""Prices: the cost of each piece of a run, from the sizes of its splits and the lengths of its segments.

Pure arithmetic. `Method.price` adds up these prices for a whole method.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from lens_engine.config import SearchOptions, SelectionConfig
from lens_engine.metering.cost import Cost
from lens_engine.plan import (
    FilterRound,
    Rung,
    count_demonstrations,
    list_forms,
    plan_form_rungs,
    plan_rounds,
    plan_rungs,
)
from lens_engine.retrieval.form import PromptForm
from lens_engine.retrieval.pool import MOST_POOL_ROWS
from lens_engine.rows.fit_rows import count_fit_rows
from lens_engine.rows.splits import SplitRows


@dataclass(frozen=True, slots=True)
class TokenLengths:
    """Mean number of tokens of a rendered demonstration and of a rendered query, and that of the opening."""

    demonstration: float
    query: float
    opening: int = 0  #: of each prompt: the instruction with the separator; 0 without one

    @classmethod
    def from_counts(
        cls, demonstrations: Sequence[int], queries: Sequence[int], opening: Sequence[int] = ()
    ) -> "TokenLengths":
        demonstration, query = (sum(counts) / max(len(counts), 1) for counts in (demonstrations, queries))
        return cls(demonstration, query, sum(opening))


@dataclass(frozen=True)
class Prices:
    """The price of each piece of a run on these rows, with these options."""

    rows: SplitRows
    config: SelectionConfig
    lengths: TokenLengths
    has_probabilities: bool = True  #: whether the model gives probabilities, which filtering needs

    @property
    def filter_rounds(self) -> list[FilterRound]:
        """The rounds of filtering; none for a model that gives answers alone."""
        if not self.has_probabilities:
            return []
        return plan_rounds(len(self.rows.candidates), self.config.filtering, len(self.rows.score_set))

    def judging(self, permutations: int, num_rows: int, demonstrations: int | None = None) -> Cost:
        """`permutations` permutations on `num_rows` rows each.

        `demonstrations` is the number of demonstrations in a prompt; None for `config.num_demonstrations`.
        """
        n = self.config.num_demonstrations if demonstrations is None else demonstrations
        prefix = self.lengths.opening + n * self.lengths.demonstration
        queries = num_rows * self.lengths.query
        tokens, prompt_tokens = (permutations * (times * prefix + queries) for times in (1, num_rows))
        return Cost(permutations * num_rows, round(tokens), round(prompt_tokens), permutations)

    def judging_pairs(self, num_forms: int, num_rows: int, demonstrations: int) -> Cost:
        """`num_forms` forms of a prompt on `num_rows` rows each, where every row has its own demonstrations."""
        pairs, lengths = num_forms * num_rows, self.lengths
        tokens = round(pairs * (lengths.opening + demonstrations * lengths.demonstration + lengths.query))
        return Cost(pairs, tokens, tokens, pairs)

    def validating(self, permutations: int) -> Cost:
        """Each permutation on every validation row."""
        return self.judging(permutations, len(self.rows.validation))

    def filtering(self) -> Cost:
        """Stage 1, all rounds."""
        return sum((self.filtering_round(plan) for plan in self.filter_rounds if plan.new_columns), Cost())

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

    @property
    def forms(self) -> tuple[PromptForm, ...]:
        """The forms that the options ask for and the pool can fill, the plainest first; `fixed` is not among them."""
        num_pool_rows = min(len(self.rows.pool_rows), MOST_POOL_ROWS)
        return list_forms(self.config.search.forms, num_pool_rows, self.config.num_demonstrations)

    def choosing_form(self) -> Cost:
        """The most that judging forms costs, and confirming the best of them."""
        sizes = self._form_sizes
        rungs = plan_form_rungs(len(sizes), len(self.rows.validation))
        judged = (
            self.judging_pairs(1, rung.end - rung.start, size) for rung in rungs for size in sizes[: rung.permutations]
        )
        return sum(judged, self.judging_pairs(1, len(self.rows.confirmation), sizes[0]) if sizes else Cost())

    def testing_form(self) -> Cost:
        """The most that a form costs on the test rows."""
        return self.judging_pairs(1, len(self.rows.test), max(self._form_sizes, default=0))

    @property
    def _form_sizes(self) -> list[int]:
        """Number of demonstrations in the prompt of each form, the largest first."""
        n = self.config.num_demonstrations
        return sorted((count_demonstrations(form, n) for form in self.forms), reverse=True)

    @property
    def lens(self) -> Cost:
        """What LENS takes to choose a prompt: filtering, a full search, the confirmation of its finalists, forms."""
        fixed = self.filtering() + self.searching() + self.confirming(self.config.search.num_finalists)
        return fixed + self.choosing_form()

    def fit_rows(self, num_demonstrations: int) -> int:
        """Number of rows on which a head is fitted, after prompts with this many different demonstrations."""
        return count_fit_rows(self.rows, num_demonstrations, self.config.classifier.fit_rows)

    def rival_permutations(self, cost: Cost) -> int:
        """Number of random permutations that this cost pays for, the confirmation of the best included, rounded up.

        By pairs or by tokens, whichever gives more: a row with demonstrations of its own shares no prefix, so its pair
        has many times the tokens of one of a random permutation.
        """
        left, one = cost - self.confirming(1), self.validating(1)
        by_tokens = -(-left.tokens // one.tokens) if one.tokens else 0  # lengths are not known before there is a model
        return max(-(-left.pairs // one.pairs), by_tokens, 1)


def plan_judging(search: SearchOptions, num_rows: int) -> list[Rung]:
    """The rungs of a full search on the validation rows: the first permutations, then each iteration's children."""
    plan = partial(plan_rungs, num_rows=num_rows, halvings=search.halvings, least=search.beam_width)
    return plan(search.num_first_permutations) + search.iterations * plan(search.num_children)
