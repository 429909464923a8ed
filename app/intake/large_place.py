"""The place of large work, which is done in one process, and the turns of those who wait for it."""

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class LargePlace:
    """One place. Of those who wait, the owner goes first who had it the longest time ago, or never.

    So one owner's flood costs another at most the work under way. All calls must come from one event loop.
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
