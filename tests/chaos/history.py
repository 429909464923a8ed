"""What the clients did and what they got: the evidence against which the service is judged."""

import threading
import time
from collections import Counter
from dataclasses import dataclass, field

from app.ids import path_of
from tests.chaos.submissions import Variant


@dataclass(frozen=True, slots=True)
class Violation:
    """A promise that was broken, with what is needed to look into it."""

    detail: str
    ids: tuple[str, ...] = ()
    at: float = 0.0  #: seconds since the beginning of the run


@dataclass
class Accepted:
    """A job that the service has acknowledged."""

    id: str
    owner: str
    key: str
    submission: Variant
    status: str = "queued"  #: the last that the client saw
    digest: str | None = None
    is_partial: bool | None = None
    is_deleted: bool = False  #: its owner asked for it, with or without an answer
    is_unsure: bool = False  #: its owner had it queued again, and got no answer

    @property
    def path(self) -> str:
        return path_of(self.id)


@dataclass
class History:
    """Shared by all clients and checks of a run; safe between threads."""

    started: float = field(default_factory=time.monotonic)
    answers: Counter[str] = field(default_factory=Counter)  #: by action and status, or kind of error
    violations: list[Violation] = field(default_factory=list)
    _accepted: dict[str, Accepted] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.started

    @property
    def accepted(self) -> list[Accepted]:
        with self._lock:
            return list(self._accepted.values())

    def note(self, action: str, answer: object) -> None:
        with self._lock:
            self.answers[f"{action} {answer}"] += 1

    def accept(self, accepted: Accepted) -> None:
        """Note an acknowledged job. The same key must always have the same id."""
        with self._lock:
            for other in self._accepted.values():
                if (other.owner, other.key) == (accepted.owner, accepted.key) and other.id != accepted.id:
                    self.violate(f"{other.owner} got two ids for the key {other.key}", other.id, accepted.id)
            self._accepted.setdefault(accepted.id, accepted)

    def violate(self, detail: str, *ids: str) -> None:
        """Note a violation, once for the same detail and ids."""
        with self._lock:
            if (detail, ids) not in {(one.detail, one.ids) for one in self.violations}:
                self.violations.append(Violation(detail, ids, round(self.now, 1)))
