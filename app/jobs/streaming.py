"""The events of a job while they happen: server-sent events (HTML Living Standard, section 9.2)."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from threading import Event as Flag

from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from app.errors import STOPPING, Busy, NotFound, Unavailable

MEDIA_TYPE = "text/event-stream"
CLOSE = "close"
"""Event after the last one of a job that has ended. A client need not come back."""

MOST_STREAMS, MOST_OF_OWNER = 60, 20
"""Largest number of streams that one process holds open, in all and of one owner. Further clients poll."""

_LOOK_SECONDS = 1.0
_SILENT_LOOKS = 15
"""Looks without news after which a comment is sent, so that no proxy ends the connection."""

_MOST_LOOKS = 300
"""Looks of one stream. The client comes back then, and shows its key again."""

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


class Streams:
    """The open streams of one process."""

    def __init__(self, look_seconds: float = _LOOK_SECONDS) -> None:
        self._look_seconds = look_seconds
        self._open = Counter[str]()

    def open(self, owner_id: str, look: Look, first: News, stopping: Flag | None) -> StreamingResponse:
        """Answer with what a first look found, and then with each news.

        Args:
            stopping: set when the process is about to stop; its streams end then.

        Raises:
            Unavailable: the process is about to stop.
            Busy: too many streams are open.
        """
        if stopping is not None and stopping.is_set():
            raise Unavailable(STOPPING)
        if self._is_full(owner_id):
            raise Busy("as many streams are open as this process holds; poll, or repeat the request later")
        messages = self._counted(owner_id, _follow(look, first, stopping, self._look_seconds))
        return StreamingResponse(messages, media_type=MEDIA_TYPE, headers=_HEADERS)

    def _is_full(self, owner_id: str) -> bool:
        return self._open.total() >= MOST_STREAMS or self._open[owner_id] >= MOST_OF_OWNER

    async def _counted(self, owner_id: str, messages: AsyncIterator[str]) -> AsyncIterator[str]:
        """Count a stream while its client reads. Of several that came at once, those beyond the limits end at once."""
        if self._is_full(owner_id):
            return
        self._open[owner_id] += 1
        try:
            async for message in messages:
                yield message
        finally:
            self._open[owner_id] -= 1
            self._open += Counter()  # forgets owners without a stream


async def _follow(look: Look, news: News, stopping: Flag | None, look_seconds: float) -> AsyncIterator[str]:
    """The messages, until the job has ended, the process stops, or the database is away: the client comes back."""
    silent = 0
    yield ": open\n\n"
    for _ in range(_MOST_LOOKS):
        for message in news.messages:
            yield message
        if news.has_ended:
            yield write_message(CLOSE, "{}")
            return
        silent = 0 if news.messages else silent + 1
        if silent and silent % _SILENT_LOOKS == 0:
            yield ": waiting\n\n"
        await asyncio.sleep(look_seconds)
        if stopping is not None and stopping.is_set():
            return
        try:
            news = await run_in_threadpool(look, news.last_id, news.version)
        except (SQLAlchemyError, NotFound):  # or the job was deleted
            return
