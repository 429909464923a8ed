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


class Admission:
    """Admits submissions to one process."""

    def __init__(self, num_places: int, num_waiting: int, sole_owner: str | None = None) -> None:
        """`sole_owner`: may have all places; every other owner has half of them at most."""
        self.note_wait: Callable[[float], None] = lambda _: None
        """Takes how long each large one waited (seconds)."""
        self._sole_owner = sole_owner
        self._places, self._large_place = asyncio.Semaphore(num_places), asyncio.Lock()
        self._most_large, self._num_large = max(1, num_waiting), 0
        self._most = num_places + num_waiting
        self._admitted = Counter[str]()

    @property
    def num_admitted(self) -> int:
        return self._admitted.total()

    @property
    def num_waiting(self) -> int:
        """Number of large ones that wait for their place."""
        return self._num_large - self._large_place.locked()

    @contextmanager
    def admit(self, owner_id: str) -> Iterator[None]:
        """Admit one submission until the block ends. Enter the block before the body is read.

        Raises Busy if as many as allowed are admitted already, of all owners or of this one.
        """
        most = self._most if owner_id == self._sole_owner else -(-self._most // 2)
        if self.num_admitted >= self._most or self._admitted[owner_id] >= most:
            raise Busy(
                "too many submissions arrive at once, and nothing of this one was read; repeat the request later"
            )
        self._admitted[owner_id] += 1
        try:
            yield
        finally:
            self._admitted[owner_id] -= 1
            self._admitted += Counter()  # forgets owners without a submission

    @asynccontextmanager
    async def take_place(self, *, is_large: bool) -> AsyncIterator[None]:
        """Wait for a place to work on a submission, and hold it until the block ends.

        Large ones are done in one process, one after another; small ones do not wait for them. Enter the block after
        the body was read, so that a slow client holds no place.
        Raises Busy if as many large ones wait as may.
        """
        if not is_large:
            async with self._places:
                yield
            return
        if self._num_large >= self._most_large:
            raise Busy("too many large submissions wait, and nothing of this one was stored; repeat the request later")
        self._num_large += 1
        began = time.monotonic()
        try:
            async with self._large_place:
                self.note_wait(time.monotonic() - began)
                yield
        finally:
            self._num_large -= 1
