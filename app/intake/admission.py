"""Admission of submissions: how many are worked on at the same time, and how many more are read or wait.

Reading, validating and storing a dataset takes many times the memory of a poll. Without a bound, some uploads at once
could take the memory of the whole machine. All calls must come from one event loop.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from app.errors import Busy


class LargePlace:
    """The place of large work, which is done in one process: first come, first served."""

    def __init__(self) -> None:
        self.note_wait: Callable[[float], None] = lambda _: None
        """Takes how long each work waited (seconds)."""
        self.num_waiting = 0
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def take(self) -> AsyncIterator[None]:
        """Wait for the place, and hold it until the block ends."""
        began = time.monotonic()
        self.num_waiting += 1
        try:
            await self._lock.acquire()
        finally:
            self.num_waiting -= 1
        try:
            self.note_wait(time.monotonic() - began)
            yield
        finally:
            self._lock.release()


class Admission:
    """Admits submissions to one process."""

    def __init__(self, num_places: int, num_waiting: int, sole_owner: str | None = None) -> None:
        """`sole_owner`: may have all places; every other owner has half of them at most."""
        self._sole_owner = sole_owner
        self._places = asyncio.Semaphore(num_places)
        self.large_place = LargePlace()
        self._most_large = max(1, num_waiting)
        self._num_large = 0
        self._most = num_places + num_waiting
        self._admitted = Counter[str]()

    @property
    def num_admitted(self) -> int:
        return self._admitted.total()

    @contextmanager
    def admit(self, owner_id: str) -> Iterator[None]:
        """Admit one submission until the block ends. Enter the block before the body is read.

        Raises:
            Busy: as many submissions as allowed are admitted already, of all owners or of this one.
        """
        if self.num_admitted >= self._most or self._admitted[owner_id] >= self._most_of(owner_id):
            raise Busy(
                "too many submissions arrive at once, and nothing of this one was read; repeat the request later"
            )
        self._admitted[owner_id] += 1
        try:
            yield
        finally:
            self._admitted[owner_id] -= 1
            self._admitted += Counter()  # forgets owners without a submission

    def _most_of(self, owner_id: str) -> int:
        return self._most if owner_id == self._sole_owner else -(-self._most // 2)

    @asynccontextmanager
    async def take_place(self, *, is_large: bool) -> AsyncIterator[None]:
        """Wait for a place to work on a submission, and hold it until the block ends.

        Small ones do not wait for large ones. Enter the block after the body was read, so that a slow client holds no
        place.

        Raises:
            Busy: so many large ones wait that small ones would not be admitted.
        """
        if not is_large:
            async with self._places:
                yield
            return
        if self._num_large >= self._most_large:
            raise Busy("too many large submissions wait, and nothing of this one was stored; repeat the request later")
        self._num_large += 1
        try:
            async with self.large_place.take():
                yield
        finally:
            self._num_large -= 1
