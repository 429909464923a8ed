"""Streams of events: what they send, when they end, and how many there are."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from threading import Event as Flag

import pytest
from sqlalchemy.exc import OperationalError

from app.errors import TooManyStreams, Unavailable
from app.jobs.streaming import MOST_OF_OWNER, MOST_STREAMS, Look, News, Pace, Streams

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


QUICK = Pace(look_seconds=0.001, silent_seconds=60, longest_seconds=60)


def read_all(first: News, look: Look, stopping: Flag | None = None, pace: Pace = QUICK) -> list[str]:
    async def read() -> list[str]:
        stream = Streams(pace).open("owner", look, first, stopping)
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


@pytest.mark.parametrize("slow", ["pause", "look"])
def test_silent_stream_is_kept_open_by_comments_however_long_a_look_takes(slow: str) -> None:
    looks = iter([make_news(has_ended=True)])

    def look(*_: object) -> News:
        time.sleep(0.5 if slow == "look" else 0)
        return next(looks)

    pace = Pace(look_seconds=0.5 if slow == "pause" else 0, silent_seconds=0.1, longest_seconds=60)
    opened, *comments, close = read_all(QUIET, look, pace=pace)
    assert (opened, close) == (": open\n\n", CLOSED)
    assert set(comments) == {": waiting\n\n"}
    assert 2 <= len(comments) <= 5


def test_news_put_off_the_next_comment() -> None:
    pace = Pace(look_seconds=0.001, silent_seconds=60, longest_seconds=60)
    found = read_all(QUIET, make_look(*[QUIET] * 40, make_news(has_ended=True)), pace=pace)
    assert found == [": open\n\n", CLOSED]


@pytest.mark.parametrize("look_seconds", [0.0, 60.0])
def test_stream_without_an_end_ends_in_its_time_and_is_not_closed(look_seconds: float) -> None:
    """The client comes back, and shows its key again."""
    began = time.monotonic()
    found = read_all(QUIET, lambda *_: QUIET, pace=Pace(look_seconds, silent_seconds=60, longest_seconds=0.2))
    assert found == [": open\n\n"]
    assert 0.2 <= time.monotonic() - began < 5


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
        refused = list[int]()
        streams = Streams(note_refusal=lambda: refused.append(1))
        owners = [f"owner {number // MOST_OF_OWNER}" for number in range(MOST_STREAMS)]
        opened = [streams.open(owner, make_look(), QUIET, None).body_iterator for owner in owners]
        for one in opened:
            await anext(one)
        with pytest.raises(TooManyStreams, match="as many streams are open") as caught:
            streams.open("another", make_look(), QUIET, None)
        assert (caught.value.status, caught.value.headers) == (429, {"Retry-After": "30"})
        assert (streams.num_open, len(refused)) == (MOST_STREAMS, 1)
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
        with pytest.raises(TooManyStreams):
            streams.open("one", make_look(), QUIET, None)
        await anext(streams.open("other", make_look(), QUIET, None).body_iterator)
        await close(opened)

    asyncio.run(open_all())


async def close(streams: Iterable[AsyncIterator[object]]) -> None:
    for one in streams:
        await one.aclose()  # type: ignore[attr-defined]
