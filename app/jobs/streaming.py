"""The events of a job while they happen: server-sent events (HTML Living Standard, section 9.2)."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass
from threading import Event as Flag
from typing import Any

from fastapi import Request
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from app.errors import STOPPING, NotFound, TooManyStreams, Unavailable
from app.jobs import repository, service
from app.jobs.schemas import EventOut
from app.jobs.view import View
from app.services import Services
from app.store.states import TERMINAL, Status
from app.web.draining import DRAINING
from app.web.paths import BY_HTMX

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

NOTHING_MORE = "The job has ended, and the client has its last event."
STREAM: dict[str, Any] = {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}
"""The OpenAPI entry of a stream, beside that of a page."""

_MOST_EVENTS = 200
"""Events of one look."""

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


def answer_stream(request: Request, view: View, job_id: str, after: int) -> Response:
    """Stream the events of a job after the one with this number.

    Raises:
        NotFound: the owner has no such job.
        Unavailable, TooManyStreams: as `Streams.open`.
    """
    streams: Streams = request.app.state.streams
    owner: str = request.state.owner_id
    look = _look_at(view, request.app.state.services, owner, job_id)
    first = look(after, "")
    if after and first.has_ended and first.last_id == after and BY_HTMX not in request.headers:
        return Response(status_code=204)  # an EventSource stops asking; htmx needs the message `close`
    return streams.open(owner, look, first, getattr(request.state, DRAINING, None))


def _look_at(view: View, services: Services, owner: str, job_id: str) -> Look:
    def look(after: int, version: str) -> News:
        with services.database.session_scope() as session:
            state = service.get_state(session, owner, view.kind, job_id)  # first: its last event is there then
            events = repository.list_events(session, job_id, after, _MOST_EVENTS)[:_MOST_EVENTS]
            place = service.find_place(services, session, state)
            found = f"{state.version}{place}"
            shown = None
            if found != version:
                shown = view.present(session, service.get(session, owner, view.kind, job_id), place)
        messages = [_write_event(EventOut.model_validate(event)) for event in events]
        if shown is not None:
            messages.append(write_message("job", shown.model_dump_json()))
        last_id = events[-1].id if events else after
        return News(last_id, found, tuple(messages), Status(state.status) in TERMINAL and len(events) < _MOST_EVENTS)

    return look


def _write_event(event: EventOut) -> str:
    return write_message(event.type, event.model_dump_json(), event.id)
