"""Pools in memory: made once for all who ask, and forgotten when others need the room."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from app.answers.indexes import SMALL_CHARACTERS, SMALL_ROWS, Indexes, PoolSource, Superseded, weigh_pool
from app.errors import NotFound
from lens_engine.retrieval import index
from lens_engine.retrieval.pool import Pool
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

    def source(self, mark: str, owner: str = "", num_rows: int = 20, text: str = "") -> PoolSource:
        """The source of a pool: the mark is a letter and the version."""

        def load() -> Pool:
            self.may_go_on.wait(20)
            self.made.append(mark)
            return make_pool(mark + text)

        return PoolSource(owner, (owner, mark[0]), (mark[1:],), num_rows, load)


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
    assert indexes.held(loads.source("c")) is None
    assert indexes.held(loads.source("b")) is not None


def test_pool_that_is_too_large_is_held_until_another_one_is_asked_for() -> None:
    indexes, loads = Indexes(SIZE // 2), Loads()
    for mark in ("a", "a", "b", "b", "a"):
        assert asyncio.run(indexes.find(loads.source(mark))).rows == make_pool(mark).rows
        assert indexes.num_bytes <= 1.1 * SIZE
    assert loads.made == ["a", "b", "a"]
    assert [indexes.held(loads.source(mark)) is None for mark in "ab"] == [False, True]
    indexes.close()


def test_pool_that_cannot_be_read_is_tried_again(indexes: Indexes) -> None:
    def refuse() -> Pool:
        raise NotFound("gone")

    with pytest.raises(NotFound):
        asyncio.run(indexes.find(replace(Loads().source("a"), load=refuse)))
    assert asyncio.run(indexes.find(Loads().source("a"))).rows == make_pool("a").rows


def test_newest_version_is_made_and_held_alone_and_owners_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    indexes, loads, large = Indexes(50 * SIZE), Loads(), SMALL_ROWS + 1
    begun, may_go_on = threading.Event(), threading.Event()

    def wait_for_the_first(text: str) -> list[str]:
        if "x1" in text:
            begun.set()
            may_go_on.wait(20)
        return [text]

    monkeypatch.setattr(index, "list_terms", wait_for_the_first)
    of_eve = [loads.source(one, "eve", large) for one in ("x1", "x2", "y1", "x3", "x4")]
    long = loads.source("w1", "ann", text="w" * (SMALL_CHARACTERS // 20))
    asked = [*of_eve, loads.source("z1", "bob", large), long]

    async def ask() -> list[Pool | BaseException]:
        asking = [asyncio.create_task(indexes.find(asked[0]))]
        await asyncio.to_thread(begun.wait, 20)
        asking += [asyncio.create_task(indexes.find(one)) for one in asked[1:]]
        await asyncio.wait_for(indexes.find(loads.source("small", "bob")), 20)  # while the first is made
        may_go_on.set()
        return await asyncio.gather(*asking, return_exceptions=True)

    found = asyncio.run(ask())
    assert loads.made == ["x1", "w1", "small", "x4", "z1", "w1", "y1"]
    assert [type(one) is Superseded for one in found] == [False, True, False, True, False, False, False]
    assert [one.key[1:] for one in asked if indexes.held(one)] == [("y", "1"), ("x", "4"), ("z", "1"), ("w", "1")]
    indexes.close()
