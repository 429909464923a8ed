"""Pools in memory: made once for all who ask, and forgotten when others need the room."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from app.answers.answers import Indexes, PoolSource
from app.answers.remote import weigh_pool
from app.errors import NotFound
from lens_engine.prompt.pool import Pool
from lens_engine.types import Example


def make_pool(mark: str) -> Pool:
    return Pool.of([Example(row, f"text {mark} {row}", "ab"[row % 2]) for row in range(20)])


SIZE = weigh_pool(make_pool("a"))


class Loads:
    """Counts how often each pool is read."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def source(self, mark: str) -> PoolSource:
        def load() -> Pool:
            self.may_go_on.wait(20)
            self.made.append(mark)
            return make_pool(mark)

        return PoolSource((mark,), 20, load)


@pytest.fixture
def indexes() -> Iterator[Indexes]:
    made = Indexes(int(2.5 * SIZE))
    yield made
    made.close()


def test_pool_is_made_once_though_many_ask_at_once(indexes: Indexes) -> None:
    loads = Loads()
    loads.may_go_on.clear()

    async def ask() -> list[Pool]:
        asking = [asyncio.create_task(indexes.find(loads.source("a"))) for _ in range(200)]
        asking[0].cancel()
        await asyncio.sleep(0)
        loads.may_go_on.set()
        return await asyncio.gather(*asking[1:])

    found = asyncio.run(ask())
    assert loads.made == ["a"]
    assert {id(pool) for pool in found} == {id(found[0])}
    assert "index" in found[0].__dict__  # the index was made beside the event loop


def test_pool_that_nobody_asked_for_the_longest_time_is_forgotten(indexes: Indexes) -> None:
    loads = Loads()
    for mark in ("a", "b", "a", "c", "a", "b"):
        asyncio.run(indexes.find(loads.source(mark)))
        assert indexes.num_bytes <= 2.5 * SIZE
    assert loads.made == ["a", "b", "c", "b"]
    assert indexes.held(("c",)) is None
    assert indexes.held(("b",)) is not None


def test_pool_that_is_too_large_is_held_until_another_one_is_asked_for() -> None:
    indexes, loads = Indexes(SIZE // 2), Loads()
    for mark in ("a", "a", "b", "b", "a"):
        assert asyncio.run(indexes.find(loads.source(mark))).rows == make_pool(mark).rows
        assert indexes.num_bytes <= 1.1 * SIZE
    assert loads.made == ["a", "b", "a"]
    assert [indexes.held((mark,)) is None for mark in "ab"] == [False, True]
    indexes.close()


def test_pool_that_cannot_be_read_is_tried_again(indexes: Indexes) -> None:
    def refuse() -> Pool:
        raise NotFound("gone")

    with pytest.raises(NotFound):
        asyncio.run(indexes.find(replace(Loads().source("a"), load=refuse)))
    assert asyncio.run(indexes.find(Loads().source("a"))).rows == make_pool("a").rows
