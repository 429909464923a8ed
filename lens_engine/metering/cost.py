"""The cost of scoring, in pairs and tokens."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """A number of pairs (one prefix and one query scored) and of tokens (each prefix counted once in each call).

    Prefixes held between calls and pairs found in the cache count in full, so the cost depends only on the run.
    """

    pairs: int = 0
    tokens: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.pairs + other.pairs, self.tokens + other.tokens)

    def within(self, max_pairs: int | None, unpaired: int = 0) -> "Cost":
        """The cost cut to a number of pairs, with tokens in proportion; None for no limit.

        Args:
            unpaired: tokens that belong to no pair, such as those of `Meter.spend`; they are not cut.
        """
        if max_pairs is None or self.pairs <= max_pairs:
            return self
        return Cost(max_pairs, unpaired + round((self.tokens - unpaired) * max_pairs / self.pairs))
