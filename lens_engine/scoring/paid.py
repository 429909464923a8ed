"""Scorers that ask a server: what is paid for their requests, and what work will take."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.cache.scorer import find_computing

if TYPE_CHECKING:
    from lens_engine.scoring.endpoints.spending import Spending  # has the sums


@dataclass(frozen=True, slots=True)
class Paid:
    """What was asked of a server, as it counted, and what it cost."""

    usd: float = 0.0
    requests: int = 0
    tokens: int = 0  #: of prompts
    cached_tokens: int = 0  #: those of `tokens` that the server had in its cache

    def __add__(self, other: "Paid") -> "Paid":
        return Paid(
            self.usd + other.usd,
            self.requests + other.requests,
            self.tokens + other.tokens,
            self.cached_tokens + other.cached_tokens,
        )

    def __sub__(self, other: "Paid") -> "Paid":
        return self + Paid(-other.usd, -other.requests, -other.tokens, -other.cached_tokens)


@dataclass(frozen=True, slots=True)
class Bill:
    """What work will take at a server that has nothing in its cache, and none of whose answers are on disk."""

    requests: int
    tokens: int  #: of all prompts
    usd: float | None  #: None without prices


@runtime_checkable
class PaidScorer(LabelScorer, Protocol):
    """A scorer whose requests may cost money."""

    @property
    def spending(self) -> "Spending": ...

    def bill(self, pairs: int, prompt_tokens: int, label_spans: Sequence[str], prefixes: int = 1) -> Bill:
        """What pairs will take.

        Args:
            prompt_tokens: number of tokens of the prompts of all pairs, each prefix counted with each query.
            prefixes: number of prefixes of the pairs.

        Raises:
            InvalidVerbalizer: as `LabelScorer.score`.
        """
        ...


def find_paid_scorer(scorer: LabelScorer) -> PaidScorer | None:
    """The scorer, if it asks a server; None for a model on this machine."""
    found = find_computing(scorer)
    return found if isinstance(found, PaidScorer) else None
