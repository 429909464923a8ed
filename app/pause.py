"""Leaves a store alone for some seconds after it did not answer, so that requests do not wait for it one by one."""

import math
import time
from collections.abc import Callable

PAUSE_SECONDS = 5.0


class Pause:
    """Whether a store failed in the last seconds. Threads may share it."""

    def __init__(self, seconds: float = PAUSE_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._until = -math.inf

    def begin(self) -> None:
        self._until = self._clock() + self._seconds

    def end(self) -> None:
        self._until = -math.inf

    @property
    def is_on(self) -> bool:
        return self._clock() < self._until
