"""Reads the body of a request: first the media type, then strict JSON, then the fields."""

import json
import re
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers

from app.errors import BadRequest, Unprocessable, UnsupportedMediaType, point
from app.web.validation import Incoming, read_model
from lens_engine.files.strict_json import MAX_DEPTH, LooseJson, load_strict_json
from lens_engine.prompt.text_checks import UNSTORABLE

_STRING_BYTES = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
"""A string of JSON, also one that is never closed, so that the search takes linear time."""
_SHOWN_CHARACTERS = 100


def count_structure(raw: bytes) -> tuple[int, int]:
    """Count the objects and lists, and the commas between fields and items, of JSON in UTF-8, without building them."""
    structure = _STRING_BYTES.sub(b"", raw)
    return structure.count(b"{") + structure.count(b"["), structure.count(b",")


def parse_json(raw: bytes | str, *within: str, is_stored: bool = True) -> Any:
    """Read one JSON document; `within` is where it stands in the request, for pointers.

    `is_stored`: whether the document, or a part of it, will be stored.
    """
    try:
        text = raw.decode("utf-8") if isinstance(raw, bytes) else raw
        value = load_strict_json(text)
    except UnicodeDecodeError as error:
        raise _unreadable(f"the JSON is not UTF-8 (byte {error.start})", within) from error
    except json.JSONDecodeError as error:
        raise _unreadable(f"the JSON ends or breaks at line {error.lineno}, column {error.colno}", within) from error
    except RecursionError as error:
        detail = f"the JSON is nested too deeply: more than {MAX_DEPTH} objects and lists are within each other"
        raise _unreadable(detail, within) from error
    except LooseJson as error:
        raise _unreadable(f"the JSON {error}", within) from error
    unstorable = _find_unstorable(value) if is_stored else None
    if unstorable is not None:
        place = point(*within, *reversed(unstorable))
        raise Unprocessable.at(place, f"{_name(place)}a string holds NUL or half a surrogate pair; take it out")
    return value


def _unreadable(detail: str, within: Sequence[str]) -> BadRequest:
    place = point(*within)
    return BadRequest(detail, errors=[{"detail": detail, "pointer": place}] if place else [])


def _name(place: str) -> str:
    """The place before a message, unless it is the whole document."""
    shown = "".join(one if one.isprintable() else "?" for one in place)
    return f"{shown[:_SHOWN_CHARACTERS]}: " if place else ""


def _find_unstorable(value: Any) -> list[str | int] | None:
    """The path to the first string that cannot be stored, from its last part to its first; None if there is none.

    The path is made on the way back, so that it costs nothing for the strings that can be stored.
    """
    if isinstance(value, str):
        return [] if UNSTORABLE.search(value) else None
    if not isinstance(value, list | dict):
        return None
    for place, item in enumerate(value) if isinstance(value, list) else value.items():
        if isinstance(place, str) and UNSTORABLE.search(place):
            return []
        path = _find_unstorable(item)
        if path is not None:
            return [*path, place]
    return None


JSON = "application/json"
MOST_CONTAINERS, _MOST_SEPARATORS = 20, 1000
_COUNTING = threading.Lock()
_Body = TypeVar("_Body", bound=Incoming)


def media_type_of(headers: Headers) -> str:
    """Return the media type of a body, without its parameters; "" if there is none."""
    return headers.get("Content-Type", "").partition(";")[0].strip().lower()


def check_media_type(request: Request, *accepted: str, send: str) -> str:
    """Return the media type of the body, without its parameters. This reads nothing of the body."""
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

    `most_objects`: largest number of objects and lists in it.
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
        raise Unprocessable(f"the body has more than {most_objects} objects and lists; send one object of fields")
    if separators > _MOST_SEPARATORS:
        raise Unprocessable(f"the body has more than {_MOST_SEPARATORS} fields and items; send fewer")
    return read_model(kind, parse_json(raw, is_stored=is_stored))
