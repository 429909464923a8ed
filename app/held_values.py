"""Values in memory that take long to make: made once for all who ask, forgotten when others need the room."""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class HeldValues(Generic[K, V]):
    """The values that were asked for last: all that fit into a number of bytes, and at least one. Threads may share it.

    A value that is too large by itself is held until another one is made: each request would make it anew otherwise.
    One thread makes a value after another, so that many new ones at once take neither all threads nor all memory.

    Args:
        weigh: memory that a value takes (bytes).
    """

    def __init__(self, most_bytes: int, weigh: Callable[[V], int], name: str) -> None:
        self._most_bytes = most_bytes
        self._weigh = weigh
        self._lock = threading.Lock()
        self._held = OrderedDict[K, Future[V]]()
        self._sizes = dict[K, int]()
        self._maker = ThreadPoolExecutor(1, name)

    async def find_or_make(self, key: K, make: Callable[[], V]) -> V:
        """The value. Those who ask while it is made wait without a thread. An error of `make` is not held."""
        made = self._find(key, make)
        if made.done():
            return made.result()
        return await asyncio.shield(asyncio.wrap_future(made))  # one who goes away ends it for nobody else

    def held(self, key: K) -> V | None:
        """The value, if it is there."""
        with self._lock:
            made = self._held.get(key)
            if made is None or not made.done() or made.exception() is not None:
                return None
            self._held.move_to_end(key)
        return made.result()

    @property
    def num_bytes(self) -> int:
        """What the values take (bytes), estimated."""
        with self._lock:
            return sum(self._sizes.values())

    def close(self) -> None:
        self._maker.shutdown(cancel_futures=True)

    def _find(self, key: K, make: Callable[[], V]) -> Future[V]:
        with self._lock:
            found = self._held.get(key)
            if found is None:
                found = self._held[key] = self._maker.submit(self._make, key, make)
            self._held.move_to_end(key)
            return found

    def _make(self, key: K, make: Callable[[], V]) -> V:
        try:
            value = make()
            size = self._weigh(value)
        except BaseException:
            with self._lock:
                del self._held[key]
            raise
        with self._lock:
            self._sizes[key] = size
            self._make_room(key)
        return value

    def _make_room(self, newest: K) -> None:
        """Forget the values that nobody asked for the longest time, but not the newest."""
        taken = sum(self._sizes.values())
        for key in [key for key in self._held if key in self._sizes and key != newest]:
            if taken <= self._most_bytes:
                return
            taken -= self._sizes.pop(key)
            del self._held[key]
