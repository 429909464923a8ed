"""Streams of events: what they send, when they end, and how many there are."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from threading import Event as Flag

import pytest
from sqlalchemy.exc import OperationalError

from app.errors import Busy, Unavailable
from app.jobs.streaming import MOST_OF_OWNER, MOST_STREAMS, Look, News, Streams

CLOSED = "event: close\ndata: {}\n\n"
QUIET = News(7, "v1", (), has_ended=False)


def make_look(*news: News | Exception) -> Look:
    """Finds these, one after the other."""
    left = iter(news)

    def look(_after: int, _version: str) -> News:
        found = next(left)
        if isinstance(found, Exception):
            raise found
        return found

    return look


def read_all(first: News, look: Look, stopping: Flag | None = None) -> list[str]:
    async def read() -> list[str]:
        stream = Streams(look_seconds=0.001).open("owner", look, first, stopping)
        return [str(one) async for one in stream.body_iterator]

    return asyncio.run(asyncio.wait_for(read(), 10))


def make_news(*messages: str, has_ended: bool = False) -> News:
    return News(8, "v2", messages, has_ended)


def test_messages_come_in_order_until_the_job_has_ended() -> None:
    look = make_look(QUIET, make_news("two", "three"), make_news("four", has_ended=True))
    assert read_all(make_news("one"), look) == [": open\n\n", "one", "two", "three", "four", CLOSED]


def test_each_look_begins_where_the_one_before_ended() -> None:
    asked = []

    def look(after: int, version: str) -> News:
        asked.append((after, version))
        return News(after + 1, f"{version}+", (), has_ended=len(asked) == 3)

    read_all(News(4, "v", (), has_ended=False), look)
    assert asked == [(4, "v"), (5, "v+"), (6, "v++")]


def test_silent_stream_is_kept_open_by_comments() -> None:
    found = read_all(QUIET, make_look(*[QUIET] * 40, make_news(has_ended=True)))
    assert found == [": open\n\n", ": waiting\n\n", ": waiting\n\n", CLOSED]


def test_stream_without_an_end_ends_and_is_not_closed() -> None:
    """The client comes back, and shows its key again."""
    found = read_all(QUIET, lambda *_: QUIET)
    assert CLOSED not in found


def test_stream_ends_without_the_database() -> None:
    found = read_all(make_news("one"), make_look(OperationalError("SELECT", {}, Exception("away"))))
    assert found == [": open\n\n", "one"]


def test_stream_ends_when_the_process_stops() -> None:
    stopping = Flag()

    def look(*_: object) -> News:
        stopping.set()
        return make_news("last")

    assert read_all(QUIET, look, stopping) == [": open\n\n", "last"]


def test_process_that_stops_opens_no_stream() -> None:
    stopping = Flag()
    stopping.set()
    with pytest.raises(Unavailable):
        Streams().open("owner", make_look(), QUIET, stopping)


def test_one_stream_too_many_is_refused_until_another_ends() -> None:
    async def open_all() -> None:
        streams = Streams()
        owners = [f"owner {number // MOST_OF_OWNER}" for number in range(MOST_STREAMS)]
        opened = [streams.open(owner, make_look(), QUIET, None).body_iterator for owner in owners]
        for one in opened:
            await anext(one)
        with pytest.raises(Busy, match="as many streams are open"):
            streams.open("another", make_look(), QUIET, None)
        await close([opened[0]])
        opened[0] = streams.open("another", make_look(), QUIET, None).body_iterator
        await close(opened)

    asyncio.run(open_all())


def test_one_owner_leaves_streams_to_others_also_when_all_come_at_once() -> None:
    async def open_all() -> None:
        streams = Streams()
        opened = [streams.open("one", make_look(), QUIET, None).body_iterator for _ in range(MOST_OF_OWNER + 1)]
        for stream in opened[:-1]:
            await anext(stream)
        assert [message async for message in opened[-1]] == []
        with pytest.raises(Busy):
            streams.open("one", make_look(), QUIET, None)
        await anext(streams.open("other", make_look(), QUIET, None).body_iterator)
        await close(opened)

    asyncio.run(open_all())


async def close(streams: Iterable[AsyncIterator[object]]) -> None:
    for one in streams:
        await one.aclose()  # type: ignore[attr-defined]
