"""Admission of submissions: how many are worked on at the same time, and how many more are read or wait.

Reading, validating and storing a dataset takes many times the memory of a poll. Without a bound, some uploads at once
could take the memory of the whole machine. All calls must come from one event loop.
"""

import asyncio
import time
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from app.errors import Busy


class LargePlace:
    """The place of large work, which is done in one process.

    Of those who wait, the owner goes first who had it the longest time ago, or never. So one owner's flood costs
    another at most the work under way.
    """

    def __init__(self) -> None:
        self.note_wait: Callable[[float], None] = lambda _: None
        """Takes how long each work waited (seconds)."""
        self._is_taken = False
        self._waiting = defaultdict[str, deque[asyncio.Future[None]]](deque)
        self._num_served = 0
        self._served = dict[str, int]()  # number of the last service of each owner, while anybody waits

    @property
    def num_waiting(self) -> int:
        return sum(map(len, self._waiting.values()))

    @asynccontextmanager
    async def take(self, owner_id: str) -> AsyncIterator[None]:
        """Wait for the place, and hold it until the block ends."""
        began = time.monotonic()
        if self._is_taken:
            await self._wait(owner_id)
        self._is_taken = True
        self.note_wait(time.monotonic() - began)
        try:
            yield
        finally:
            self._num_served += 1
            self._served[owner_id] = self._num_served
            self._pass_on()

    async def _wait(self, owner_id: str) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting[owner_id].append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._forget(owner_id, turn)
            else:  # it was cancelled when its turn had come
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        while self._waiting:
            owner_id = min(self._waiting, key=lambda owner: self._served.get(owner, 0))
            turn = self._waiting[owner_id][0]
            self._forget(owner_id, turn)
            if not turn.done():  # a waiter that was cancelled has not woken yet
                turn.set_result(None)
                return
        self._is_taken = False
        self._served.clear()

    def _forget(self, owner_id: str, turn: asyncio.Future[None]) -> None:
        """Take a turn out of those that wait, if it is still there."""
        turns = self._waiting.get(owner_id)
        if turns is None or turn not in turns:
            return
        turns.remove(turn)
        if not turns:
            del self._waiting[owner_id]


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
    async def take_place(self, owner_id: str, *, is_large: bool) -> AsyncIterator[None]:
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
            async with self.large_place.take(owner_id):
                yield
        finally:
            self._num_large -= 1
