"""The requests that wait to be computed, and which of them are computed together."""

import threading
import time
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field

from app.answering.subjects import Subject
from app.errors import Busy
from lens_engine.evaluation.rows import BATCH_ROWS, Prediction

SHORT_TEXTS = 32
"""Most texts of a short request. Short ones for one subject are computed together. A longer one is computed alone, as
the library computes a batch of a file, because bits may depend on what is computed together."""

MOST_SHORT_TEXTS = 1024
MOST_LONG = 16
"""What may wait: texts of short requests, and long requests."""

_PATIENCE_SECONDS = 5.0
"""Time after which a long request goes before short ones."""


@dataclass(frozen=True, slots=True, eq=False)
class AskedTexts:
    """A request that waits. A future that is cancelled before its texts are computed ends it."""

    subject: Subject
    texts: list[str]
    answer: "Future[list[Prediction]]" = field(default_factory=Future)
    since: float = field(default_factory=time.monotonic)


class Waiting:
    """Bounded queues of short and long requests. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._short, self._long = deque[AskedTexts](), deque[AskedTexts]()

    def add(self, asked: AskedTexts) -> None:
        """
        Raises:
            Busy: too much waits already.
        """
        is_short = len(asked.texts) <= SHORT_TEXTS
        with self._lock:
            self._drop_cancelled()
            before = sum(len(one.texts) for one in self._short) if is_short else len(self._long)
            if before >= (MOST_SHORT_TEXTS if is_short else MOST_LONG):
                raise Busy("too many texts wait for an answer; repeat the request", headers={"Retry-After": "1"})
            (self._short if is_short else self._long).append(asked)

    def seconds_to_gather(self, most: float) -> float:
        """Time for which short requests shall wait for others, `most` from the first of them on (seconds)."""
        with self._lock:
            if self._long or not self._short:
                return 0.0
            return max(0.0, self._short[0].since + most - time.monotonic())

    def take(self) -> list[AskedTexts]:
        """The requests to compute together now, which can no longer be cancelled; none if none waits."""
        with self._lock:
            self._drop_cancelled()
            if not self._short and not self._long:
                return []
            is_impatient = bool(self._long) and time.monotonic() - self._long[0].since > _PATIENCE_SECONDS
            chosen = [self._long.popleft()] if is_impatient or not self._short else self._take_short()
        return [one for one in chosen if one.answer.set_running_or_notify_cancel()]

    def _take_short(self) -> list[AskedTexts]:
        """The first short request, and others for its subject, as far as they fit into a batch."""
        first, chosen, left = self._short[0].subject, list[AskedTexts](), deque[AskedTexts]()
        room = BATCH_ROWS
        for one in self._short:
            fits = one.subject == first and len(one.texts) <= room
            (chosen if fits else left).append(one)
            room -= len(one.texts) if fits else 0
        self._short = left
        return chosen

    def _drop_cancelled(self) -> None:
        self._short, self._long = (
            deque(one for one in part if not one.answer.cancelled()) for part in (self._short, self._long)
        )
