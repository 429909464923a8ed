"""The events of a job while they happen: server-sent events (HTML Living Standard, section 9.2)."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass
from threading import Event as Flag

from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from app.errors import STOPPING, NotFound, TooManyStreams, Unavailable

MEDIA_TYPE = "text/event-stream"
CLOSE = "close"
"""Event after the last one of a job that has ended. A client need not come back."""

MOST_STREAMS, MOST_OF_OWNER = 60, 20
"""Largest number of streams that one process holds open, in all and of one owner. Further clients poll."""

_LOOK_SECONDS = 1.0
_SILENT_SECONDS = 15.0
"""Time without news after which a comment is sent, so that no proxy ends the connection."""

_LONGEST_SECONDS = 300.0
"""Time after which a stream ends. The client comes back then, and shows its key again."""

_RETRY_SECONDS = 30
"""When a client that was refused may ask again: meanwhile it polls."""

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # nginx would hold the events back


@dataclass(frozen=True, slots=True)
class News:
    """What a look at a job found since the look before."""

    last_id: int  #: of the newest event that was sent
    version: str  #: of the job that was sent
    messages: tuple[str, ...]
    has_ended: bool


Look = Callable[[int, str], News]
"""(id of the newest event, version of the job) -> what is new. It runs in a thread, and reads the database once."""


def write_message(kind: str, data: str, event_id: int | None = None) -> str:
    """One message. `data` is JSON on one line."""
    place = "" if event_id is None else f"id: {event_id}\n"
    return f"{place}event: {kind}\ndata: {data}\n\n"


@dataclass(frozen=True, slots=True)
class Pace:
    """The times of a stream (seconds), by the clock: under load a look takes longer than the pause before it."""

    look_seconds: float = _LOOK_SECONDS
    silent_seconds: float = _SILENT_SECONDS
    longest_seconds: float = _LONGEST_SECONDS


class Streams:
    """The open streams of one process."""

    def __init__(self, pace: Pace = Pace(), note_refusal: Callable[[], None] = lambda: None) -> None:
        self._pace = pace
        self._note_refusal = note_refusal
        self._open = Counter[str]()

    @property
    def num_open(self) -> int:
        return self._open.total()

    def open(self, owner_id: str, look: Look, first: News, stopping: Flag | None) -> StreamingResponse:
        """Answer with what a first look found, and then with each news.

        Args:
            stopping: set when the process is about to stop; its streams end then.

        Raises:
            Unavailable: the process is about to stop.
            TooManyStreams: too many streams are open.
        """
        if stopping is not None and stopping.is_set():
            raise Unavailable(STOPPING)
        if self._is_full(owner_id):
            self._note_refusal()
            raise TooManyStreams(
                f"as many streams are open as this process holds: {MOST_OF_OWNER} of one owner, {MOST_STREAMS} in all; "
                "poll, or repeat the request later",
                headers={"Retry-After": str(_RETRY_SECONDS)},
            )
        messages = self._counted(owner_id, _follow(look, first, stopping, self._pace))
        return StreamingResponse(messages, media_type=MEDIA_TYPE, headers=_HEADERS)

    def _is_full(self, owner_id: str) -> bool:
        return self._open.total() >= MOST_STREAMS or self._open[owner_id] >= MOST_OF_OWNER

    async def _counted(self, owner_id: str, messages: AsyncGenerator[str]) -> AsyncIterator[str]:
        """Count a stream while its client reads. Of several that came at once, those beyond the limits end at once."""
        if self._is_full(owner_id):
            self._note_refusal()
            return
        self._open[owner_id] += 1
        try:
            async with contextlib.aclosing(messages):
                async for message in messages:
                    yield message
        finally:
            self._open[owner_id] -= 1
            self._open += Counter()  # forgets owners without a stream


async def _follow(look: Look, news: News, stopping: Flag | None, pace: Pace) -> AsyncGenerator[str]:
    """The messages, until the job has ended, the process stops, or the database is away: the client comes back."""
    ends = time.monotonic() + pace.longest_seconds
    yield ": open\n\n"
    silent_since = time.monotonic()
    while True:
        for message in news.messages:
            yield message
            silent_since = time.monotonic()
        if news.has_ended:
            yield write_message(CLOSE, "{}")
            return
        looking = asyncio.ensure_future(_look_later(look, news, pace.look_seconds, stopping))
        try:
            while not looking.done():
                now = time.monotonic()
                if now >= ends:
                    return
                if now - silent_since >= pace.silent_seconds:
                    yield ": waiting\n\n"
                    silent_since = now
                await asyncio.wait({looking}, timeout=min(ends - now, silent_since + pace.silent_seconds - now))
        finally:
            looking.cancel()
        found = None
        with contextlib.suppress(SQLAlchemyError, NotFound):  # or the job was deleted
            found = looking.result()
        if found is None:
            return
        news = found


async def _look_later(look: Look, news: News, seconds: float, stopping: Flag | None) -> News | None:
    """What is new after a pause; None if the process stops."""
    await asyncio.sleep(seconds)
    if stopping is not None and stopping.is_set():
        return None
    return await run_in_threadpool(look, news.last_id, news.version)
