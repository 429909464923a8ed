"""Reads the body of a request: first the media type, then the JSON, then the fields."""

import itertools
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers

from app.errors import Unprocessable, UnsupportedMediaType
from app.problems import point
from app.web.strict_json import count_structure, find_place, parse_json
from app.web.validation import Incoming, read_model

JSON = "application/json"
MOST_CONTAINERS, _MOST_SEPARATORS = 20, 1000
_COUNTING = threading.Lock()
_Body = TypeVar("_Body", bound=Incoming)


def media_type_of(headers: Headers) -> str:
    """Return the media type of a body, without its parameters; "" if there is none."""
    return headers.get("Content-Type", "").partition(";")[0].strip().lower()


def check_media_type(request: Request, *accepted: str, send: str) -> str:
    """Return the media type of the body, without its parameters. This reads nothing of the body.

    Raises:
        UnsupportedMediaType: the body has another media type, or none, or it is compressed. `send` says what to send.
    """
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise UnsupportedMediaType("compressed bodies are not supported; send the body uncompressed")
    found = media_type_of(request.headers)
    if found in accepted:
        return found
    fault = "the header Content-Type is missing" if not found else "the media type of the body is not supported"
    raise UnsupportedMediaType(f"{fault}; send {send}")


def json_body(
    kind: type[_Body], *, is_stored: bool = True, most_objects: int = MOST_CONTAINERS
) -> Callable[[Request], Awaitable[_Body]]:
    """Make the dependency that reads a JSON body of this type.

    Args:
        most_objects: largest number of objects and lists in it.

    Raises:
        UnsupportedMediaType: the body is not declared as JSON.
        BadRequest: the body is not JSON.
        Unprocessable: a field is missing, unknown or invalid, or there are far more objects and lists than fields.
    """

    async def read(request: Request) -> _Body:
        check_media_type(request, JSON, send=f"JSON with the header `Content-Type: {JSON}`")
        return await run_in_threadpool(_read_body, kind, await request.body(), is_stored, most_objects)

    return read


def _read_body(kind: type[_Body], raw: bytes, is_stored: bool, most_objects: int) -> _Body:
    # Counted before they are built: building them holds up every other thread, and takes 24 times their JSON in memory.
    # One at a time: counting holds up the event loop too, for some milliseconds, and many threads would do so in a row.
    with _COUNTING:
        containers, separators = count_structure(raw)
    if containers > most_objects:
        raise _refuse_containers(raw, most_objects)
    if separators > _MOST_SEPARATORS:
        raise Unprocessable(f"the body has more than {_MOST_SEPARATORS} fields and items; send fewer")
    return read_model(kind, parse_json(raw, is_stored=is_stored))


def _refuse_containers(raw: bytes, most: int) -> Unprocessable:
    numbers = itertools.count(1)
    text = raw.decode("utf-8", "replace")
    path = find_place(text, lambda token, _: token in ("[", "{") and next(numbers) > most)
    detail = f"the body has more than {most} objects and lists; send one object of fields"
    return Unprocessable.at(point(*(path or ())), detail)
