"""Cost: what scoring takes, in pairs and tokens."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """Pairs (one prefix and one query) and tokens: each prefix once a call, with each of its queries.

    A prefix held between calls counts in full, and so does what the pair cache knows: a cost depends on the run alone.
    """

    pairs: int = 0
    tokens: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.pairs + other.pairs, self.tokens + other.tokens)
