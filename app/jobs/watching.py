"""What a stream looks at: the events of a job, and the job itself."""

from typing import Any

from fastapi import Request
from starlette.responses import Response

from app.jobs import repository, service
from app.jobs.schemas import EventOut
from app.jobs.streaming import MEDIA_TYPE, Look, News, Streams, write_message
from app.jobs.view import View
from app.services import Services
from app.store.states import TERMINAL, Status
from app.web.draining import DRAINING
from app.web.paths import BY_HTMX

NOTHING_MORE = "The job has ended, and the client has its last event."
STREAM: dict[str, Any] = {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}
"""The OpenAPI entry of a stream, beside that of a page."""

_MOST_EVENTS = 200
"""Events of one look."""


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
