"""Prices: the cost of each piece of a run, from the numbers of its rows and the lengths of its segments."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from functools import partial
from operator import add

from lens_engine.config import SearchOptions, SelectionConfig
from lens_engine.rows.plan import FilterRound, Rung, plan_rounds, plan_rungs

CHUNK_TOKENS = {"cpu": 8_192, "cuda": 65_536}
"""Tokens of a chunk, by device: about 4 s on two CPU cores, and enough to fill forwards on a GPU. They are constants,
because a 16-bit score may depend on the pairs scored in the same call, and because the pair cache and a resumed run
find chunks again. A slow machine takes longer: a time limit stops the forward under way (`Meter`)."""


@dataclass(frozen=True, slots=True)
class Cost:
    """A number of pairs (one prefix and one query scored) and of tokens (each prefix counted once in each call).

    Prefixes held between calls and pairs found in the cache count in full, so the cost depends only on the run.
    """

    pairs: int = 0
    tokens: int = 0
    prompt_tokens: int = field(default=0, compare=False)
    """Each prefix counted with each of its queries, as a server bills it; 0 where nobody asks for money."""
    prefixes: int = field(default=0, compare=False)
    """Number of prefixes of all calls; a request to a server has one."""

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(*map(add, astuple(self), astuple(other)))

    def within(self, max_pairs: int | None) -> "Cost":
        """The cost cut to a number of pairs, with tokens in proportion; None for no limit."""
        if max_pairs is None or self.pairs <= max_pairs:
            return self
        share = max_pairs / self.pairs
        tokens = (round(count * share) for count in (self.tokens, self.prompt_tokens, self.prefixes))
        return Cost(max_pairs, *tokens)


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
    """The price of each piece of a run with these options."""

    config: SelectionConfig
    lengths: TokenLengths
    num_candidates: int  #: of LENS; 0 without a search
    num_score_rows: int
    num_validation: int
    num_demonstrations: int  #: in a permutation
    has_probabilities: bool = True  #: whether the model gives probabilities, which filtering needs

    @property
    def filter_rounds(self) -> list[FilterRound]:
        """The rounds of filtering; none without a search, or for a model that gives answers alone."""
        if not self.has_probabilities or not self.num_candidates:
            return []
        return plan_rounds(self.num_candidates, self.config.filtering, self.num_score_rows)

    def judging(self, permutations: int, num_rows: int, demonstrations: int | None = None) -> Cost:
        """`permutations` permutations on `num_rows` rows each.

        `demonstrations` is the number of demonstrations in a prompt; None for that of a permutation.
        """
        n = self.num_demonstrations if demonstrations is None else demonstrations
        prefix = self.lengths.opening + n * self.lengths.demonstration
        queries = num_rows * self.lengths.query
        tokens, prompt_tokens = (permutations * (times * prefix + queries) for times in (1, num_rows))
        return Cost(permutations * num_rows, round(tokens), round(prompt_tokens), permutations)

    def judging_pairs(self, num_rows: int, nearest: int, fixed: int = 0) -> Cost:
        """A prompt on `num_rows` rows, each with `nearest` demonstrations of its own after those that are fixed."""
        lengths = self.lengths
        held = lengths.opening + fixed * lengths.demonstration
        own = num_rows * (nearest * lengths.demonstration + lengths.query)
        prompt_tokens = num_rows * held + own
        calls = min(-(-prompt_tokens // CHUNK_TOKENS["cpu"]), num_rows)
        return Cost(num_rows, round(calls * held + own), round(prompt_tokens), num_rows)

    def filtering(self) -> Cost:
        """Stage 1, all rounds."""
        return sum((self.filtering_round(plan) for plan in self.filter_rounds if plan.new_columns), Cost())

    def filtering_round(self, plan: FilterRound) -> Cost:
        """One round: zero-shot and one-shot pairs."""
        queries = plan.new_columns
        return self.judging(1, queries, demonstrations=0) + self.judging(plan.candidates, queries, demonstrations=1)

    def searching(self) -> Cost:
        """Stage 2 if no permutation repeats: the first permutations, and the children of each iteration."""
        if not self.num_candidates:
            return Cost()
        rungs = plan_search(self.config.search, self.num_validation)
        return sum((self.judging(rung.permutations, rung.end - rung.start) for rung in rungs), Cost())


def plan_search(search: SearchOptions, num_rows: int) -> list[Rung]:
    """The rungs of a full search on the validation rows: the first permutations, then each iteration's children."""
    plan = partial(plan_rungs, num_rows=num_rows, halvings=search.halvings, least=search.beam_width)
    return plan(search.num_first_permutations) + search.iterations * plan(search.num_children)
