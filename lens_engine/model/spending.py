"""Money of a scorer that asks a server: prices, what requests cost, the limit on it, and what work will take."""

import math
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import astuple, dataclass
from operator import add, sub
from typing import Any, ClassVar

from pydantic import ConfigDict

from lens_engine.errors import BudgetSpent, InvalidConfig

_MILLION = 1_000_000
_MOST_TOKENS = 10**9  # of one request; a server that counts more counts something else


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """Prices of a million tokens (USD), as the vendor names them; they are given, never guessed.

    Args:
        input: of tokens of prompts.
        output: of tokens that the model writes.
        cached: of tokens of prompts that the vendor had in its cache; None for the price of `input`.

    Raises:
        InvalidConfig: a price is negative or no number.
    """

    input: float
    output: float
    cached: float | None = None

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")  # of a file of servers

    def __post_init__(self) -> None:
        for name in ("input", "output", "cached"):
            price = getattr(self, name)
            if price is not None and not (math.isfinite(price) and price >= 0):
                raise InvalidConfig(f"the price of {name} tokens is {price}; give USD per million", field="prices")

    def cost(self, prompt: int, written: int, cached: int = 0) -> float:
        """The cost of numbers of tokens (USD); `cached` are part of `prompt`."""
        cheaper = self.input if self.cached is None else self.cached
        return ((prompt - cached) * self.input + cached * cheaper + written * self.output) / _MILLION


@dataclass(frozen=True, slots=True)
class Paid:
    """What was asked of a server, as it counted, and what it cost."""

    usd: float = 0.0
    requests: int = 0
    tokens: int = 0  #: of prompts
    cached_tokens: int = 0  #: those of `tokens` that the server had in its cache

    def __add__(self, other: "Paid") -> "Paid":
        return Paid(*map(add, astuple(self), astuple(other)))

    def __sub__(self, other: "Paid") -> "Paid":
        return Paid(*map(sub, astuple(self), astuple(other)))


@dataclass(frozen=True, slots=True)
class Bill:
    """What work will take at a server that has nothing in its cache, and none of whose answers are on disk."""

    requests: int
    tokens: int  #: of all prompts
    usd: float | None  #: None without prices


class Spending:
    """What the requests of a scorer cost, and the limit on it. Several threads may use it.

    `usd` is what settled requests cost, `tokens` the tokens that the server counted in prompts, `cached_tokens` those
    of them that it had in its cache, and `requests` the requests that were paid, also those whose answer was lost.
    `ahead` is what requests may cost that wait or are under way (USD).
    """

    def __init__(self, prices: TokenPrices | None) -> None:
        self.prices = prices
        self.limit: float | None = None  #: USD; set by a run that has a budget
        self.usd = 0.0
        self.tokens = 0
        self.cached_tokens = 0
        self.requests = 0
        self.ahead = 0.0
        self._reserved = 0.0
        self._lock = threading.Lock()

    def estimate(self, tokens: int, written: int = 0) -> float:
        """What prompts of `tokens` tokens cost at most (USD)."""
        return 0.0 if self.prices is None else self.prices.cost(tokens, written)

    @property
    def paid(self) -> Paid:
        """What settled requests took."""
        with self._lock:
            return Paid(self.usd, self.requests, self.tokens, self.cached_tokens)

    def expect(self, usd: float, request: "Future[Any]") -> None:
        """Count a request as ahead until it is done."""
        if usd:
            self._add_ahead(usd)
            request.add_done_callback(lambda _: self._add_ahead(-usd))

    def _add_ahead(self, usd: float) -> None:
        with self._lock:
            self.ahead += usd

    def affords(self, usd: float) -> bool:
        """Whether the limit leaves so much beside what is spent and reserved."""
        return self.limit is None or self.usd + self._reserved + usd <= self.limit

    def reserve(self, usd: float) -> None:
        """Reserve what a request may cost. Raises BudgetSpent if the limit does not leave this much."""
        with self._lock:
            if usd and not self.affords(usd):
                raise BudgetSpent(
                    f"{self.usd:.4f} USD are spent and {self._reserved:.4f} reserved of {self.limit:.4f}; the next "
                    f"request may cost {usd:.4f}"
                )
            self._reserved += usd

    def settle(self, reserved: float, usage: Mapping[str, Any] | None, *, is_paid: bool) -> None:
        """Replace a reservation by what the server counted.

        Args:
            usage: as OpenAI's API has it. A request without it, or with something else than numbers of tokens, costs
                what was reserved: its answer was lost, or counts nothing.
            is_paid: whether a model was asked. A refusal costs nothing.
        """
        counted = None if usage is None else _read_counts(usage)
        with self._lock:
            self._reserved -= reserved
            if not is_paid:
                return
            self.requests += 1
            if counted is None:
                self.usd += reserved
                return
            prompt, written, cached = counted
            self.tokens += prompt
            self.cached_tokens += cached
            if self.prices is not None:
                self.usd += self.prices.cost(prompt, written, cached)


def _read_counts(usage: Mapping[str, Any]) -> tuple[int, int, int] | None:
    """Tokens of prompts, tokens written, and cached tokens; None if a count is no number of tokens."""
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else 0
    counts = [one or 0 for one in (usage.get("prompt_tokens"), usage.get("completion_tokens"), cached)]
    if not all(isinstance(one, int) and 0 <= one <= _MOST_TOKENS for one in counts):
        return None
    prompt, written, cached = counts
    return prompt, written, min(cached, prompt)
