"""How many submissions are worked on at the same time, and how many more are let in."""

import asyncio

import pytest

from app.errors import Unavailable
from app.selections.receiving import Admission


def test_as_many_as_there_are_places_work_at_once() -> None:
    admission, working, most = Admission(2, 6, "alice"), 0, 0

    async def submit() -> None:
        nonlocal working, most
        with admission.admit("alice"):
            async with admission.take_place(is_large=False):
                working += 1
                most = max(most, working)
                await asyncio.sleep(0.001)
                working -= 1

    async def submit_all() -> None:
        await asyncio.gather(*(submit() for _ in range(8)))

    asyncio.run(submit_all())
    assert (working, most) == (0, 2)


def test_large_ones_have_one_place_and_small_ones_others() -> None:
    async def submit() -> None:
        admission = Admission(1, 4, "alice")
        with admission.admit("alice"), admission.admit("alice"), admission.admit("alice"):
            async with admission.take_place(is_large=True), admission.take_place(is_large=False):
                second = asyncio.create_task(_hold_large_place(admission))
                await asyncio.sleep(0.01)
                assert not second.done()
            await asyncio.wait_for(second, 5)

    asyncio.run(submit())


def test_large_ones_leave_room_for_small_ones() -> None:
    async def submit() -> None:
        admission = Admission(1, 2, "alice")
        async with admission.take_place(is_large=True):
            waiting = asyncio.create_task(_hold_large_place(admission))
            await asyncio.sleep(0.01)
            with pytest.raises(Unavailable, match="too many large submissions"):
                await _hold_large_place(admission)
        await asyncio.wait_for(waiting, 5)
        await asyncio.wait_for(_hold_large_place(admission), 5)

    asyncio.run(submit())


async def _hold_large_place(admission: Admission) -> None:
    async with admission.take_place(is_large=True):
        pass


def test_one_of_several_owners_has_half_of_the_places() -> None:
    admission = Admission(1, 3)
    with admission.admit("alice"), admission.admit("alice"):
        with pytest.raises(Unavailable), admission.admit("alice"):
            pass
        with admission.admit("bob"), admission.admit("bob"):
            pass
    with admission.admit("alice"):
        pass
