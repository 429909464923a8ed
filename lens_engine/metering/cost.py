"""The cost of scoring, in pairs and tokens."""

from dataclasses import dataclass, field


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
        return Cost(
            self.pairs + other.pairs,
            self.tokens + other.tokens,
            self.prompt_tokens + other.prompt_tokens,
            self.prefixes + other.prefixes,
        )

    def __sub__(self, other: "Cost") -> "Cost":
        return Cost(
            self.pairs - other.pairs,
            self.tokens - other.tokens,
            self.prompt_tokens - other.prompt_tokens,
            self.prefixes - other.prefixes,
        )

    def within(self, max_pairs: int | None) -> "Cost":
        """The cost cut to a number of pairs, with tokens in proportion; None for no limit."""
        if max_pairs is None or self.pairs <= max_pairs:
            return self
        share = max_pairs / self.pairs
        tokens = (round(count * share) for count in (self.tokens, self.prompt_tokens, self.prefixes))
        return Cost(max_pairs, *tokens)
