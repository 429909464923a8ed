"""The place of large work, and who waits for it."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from app.intake.admission import LargePlace


class Visits:
    """Works that take the place, end when they are told to, and note their order."""

    def __init__(self) -> None:
        self.place = LargePlace()
        self.order: list[str] = []
        self._may_end = asyncio.Semaphore(0)

    def begin(self, *names: str) -> list[asyncio.Task[None]]:
        return [asyncio.create_task(self._visit(name)) for name in names]

    async def end(self, number: int) -> None:
        for _ in range(number):
            self._may_end.release()
            await asyncio.sleep(0.001)

    async def _visit(self, name: str) -> None:
        async with self.place.take():
            self.order.append(name)
            await self._may_end.acquire()


def run(visit: Callable[[Visits], Awaitable[None]]) -> list[str]:
    async def all_of_it() -> list[str]:
        visits = Visits()
        await visit(visits)
        assert visits.place.num_waiting == 0
        return visits.order

    return asyncio.run(all_of_it())


def test_first_come_is_first_served() -> None:
    async def come(visits: Visits) -> None:
        visits.begin("a1", "a2", "b1", "a3")
        await asyncio.sleep(0.001)
        await visits.end(4)

    assert run(come) == ["a1", "a2", "b1", "a3"]


@pytest.mark.parametrize("moment", ["while it waits", "when the place has become free"])
def test_work_given_up_leaves_its_place_to_the_next(moment: str) -> None:
    async def give_up(visits: Visits) -> None:
        _, second, _ = visits.begin("a1", "b1", "c1")
        await asyncio.sleep(0.001)
        if moment == "when the place has become free":
            visits._may_end.release()
            while visits.place._lock.locked():
                await asyncio.sleep(0)
        second.cancel()
        await asyncio.sleep(0.001)
        await visits.end(2)
        visits.begin("d1")
        await asyncio.sleep(0.001)
        await visits.end(1)

    assert run(give_up) == ["a1", "c1", "d1"]


@pytest.mark.parametrize("others", [[], ["c1"]])
def test_holder_and_waiter_given_up_at_once_leave_the_place_free(others: list[str]) -> None:
    async def give_up(visits: Visits) -> None:
        holder, waiter, *_ = visits.begin("a1", "b1", *others)
        await asyncio.sleep(0.001)
        holder.cancel()
        waiter.cancel()  # before it wakes
        ended = await asyncio.gather(holder, waiter, return_exceptions=True)
        assert [type(one) for one in ended] == [asyncio.CancelledError] * 2
        visits.begin("d1")
        await asyncio.sleep(0.001)
        await visits.end(1 + len(others))

    assert run(give_up) == ["a1", *others, "d1"]


def test_waits_are_noted() -> None:
    async def wait(visits: Visits) -> None:
        waits: list[float] = []
        visits.place.note_wait = waits.append
        visits.begin("a1", "b1")
        await asyncio.sleep(0.05)
        await visits.end(2)
        assert waits[0] < 0.04 <= waits[1]

    run(wait)
