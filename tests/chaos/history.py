"""What the clients did and what they were told: the evidence against which the service is judged."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum, auto

import httpx

from tests.chaos.submissions import Variant


class Outcome(StrEnum):
    """What a client knows of a request."""

    OK = auto()
    FAIL = auto()  #: refused: nothing has changed
    INFO = auto()  #: no answer: it may or may not have happened


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant that does not hold, with what is needed to look into it."""

    invariant: str  #: I1 to I10
    detail: str
    ids: tuple[str, ...] = ()
    at: float = 0.0  #: seconds since the beginning of the run


@dataclass
class Accepted:
    """A selection that the service has acknowledged."""

    id: str
    owner: str
    key: str
    variant: Variant
    status: str = "queued"  #: the last that the client saw
    digest: str | None = None
    is_partial: bool | None = None
    is_deleted: bool = False  #: its owner asked for it, with or without an answer


@dataclass
class History:
    """Shared by all clients and checks of a run; safe between threads."""

    started: float = field(default_factory=time.monotonic)
    accepted: dict[str, Accepted] = field(default_factory=dict)
    outcomes: Counter[tuple[str, Outcome]] = field(default_factory=Counter)  #: by action
    refusals: Counter[int] = field(default_factory=Counter)  #: by status
    silences: Counter[str] = field(default_factory=Counter)  #: requests without an answer, by kind of error
    violations: list[Violation] = field(default_factory=list)
    slowest: dict[str, float] = field(default_factory=dict)  #: seconds, by action; answered requests only
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.started

    def note(self, action: str, outcome: Outcome, seconds: float = 0.0, refusal: int | None = None) -> None:
        with self._lock:
            self.outcomes[action, outcome] += 1
            if refusal is not None:
                self.refusals[refusal] += 1
            if outcome is not Outcome.INFO:
                self.slowest[action] = max(seconds, self.slowest.get(action, 0.0))

    def note_silence(self, action: str, error: httpx.TransportError) -> None:
        with self._lock:
            self.note(action, Outcome.INFO)
            self.silences[type(error).__name__] += 1

    def accept(self, accepted: Accepted) -> Accepted:
        """Note an acknowledged selection. The same key must always have the same id."""
        with self._lock:
            for other in self.accepted.values():
                if (other.owner, other.key) == (accepted.owner, accepted.key) and other.id != accepted.id:
                    self.violate("I2", f"{other.owner} got two ids for {other.key}", other.id, accepted.id)
            return self.accepted.setdefault(accepted.id, accepted)

    def violate(self, invariant: str, detail: str, *ids: str) -> None:
        """Note a violation, once for the same invariant, detail and ids."""
        with self._lock:
            known = {(one.invariant, one.detail, one.ids) for one in self.violations}
            if (invariant, detail, ids) not in known:
                self.violations.append(Violation(invariant, detail, ids, round(self.now, 1)))

    @contextmanager
    def reading(self) -> Iterator[list[Accepted]]:
        with self._lock:
            yield list(self.accepted.values())
