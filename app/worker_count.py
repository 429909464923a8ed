"""The number of living workers of each queue, for every poll of a queued job."""

import math
import threading
import time
from collections.abc import Callable, Mapping

from redis.exceptions import RedisError

_FRESH_SECONDS = 5.0


class WorkerCount:
    """Asks Redis every few seconds at most, in one thread at a time. Other threads get the number of before."""

    def __init__(self, ask: Callable[[], Mapping[str, int]], clock: Callable[[], float] = time.monotonic) -> None:
        """`ask`: asks Redis; raises RedisError."""
        self._ask = ask
        self._clock = clock
        self._asking = threading.Lock()
        self._asked_at = -math.inf
        self._found: Mapping[str, int] | None = None

    def get(self) -> Mapping[str, int] | None:
        """Return the number of workers by queue; None if Redis did not answer, or was not asked yet."""
        if self._clock() - self._asked_at >= _FRESH_SECONDS and self._asking.acquire(blocking=False):
            try:
                self._found = self._count()
                self._asked_at = self._clock()
            finally:
                self._asking.release()
        return self._found

    def _count(self) -> Mapping[str, int] | None:
        try:
            return self._ask()
        except RedisError:
            return None
