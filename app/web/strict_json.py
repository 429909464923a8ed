"""JSON of a request: strict, and without text that cannot be stored."""

import json
import re
from collections.abc import Sequence
from typing import Any

from app.errors import BadRequest, Unprocessable
from app.problems import point
from lens_engine.reading.strict_json import LooseJson, load_strict_json

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_STRING_BYTES = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
"""A string of JSON, also one that is never closed, so that the search takes linear time."""


def count_containers(raw: bytes) -> int:
    """Count the objects and lists of a JSON document in UTF-8 without building them."""
    return count_structure(raw)[0]


def count_structure(raw: bytes) -> tuple[int, int]:
    """Count the objects and lists, and the commas between fields and items, of a JSON document in UTF-8."""
    structure = _STRING_BYTES.sub(b"", raw)
    return structure.count(b"{") + structure.count(b"["), structure.count(b",")


def parse_json(raw: bytes | str, *within: str) -> Any:
    """Read one JSON document that will be stored; `within` is where it stands in the request, for pointers.

    Raises:
        BadRequest: it is not JSON (RFC 8259) in UTF-8; the byte's place is given where it is known.
        Unprocessable: a string holds NUL or half a surrogate pair, which no store keeps.
    """
    value = read_json(raw, *within)
    try:
        unstorable = _find_unstorable(value)
    except RecursionError as error:
        raise _unreadable("the JSON is nested too deeply", within) from error
    if unstorable is not None:
        raise Unprocessable.at(
            point(*within, *reversed(unstorable)), "a string holds NUL or half a surrogate pair; take it out"
        )
    return value


def read_json(raw: bytes | str, *within: str) -> Any:
    """Read one JSON document that is not stored.

    Raises:
        BadRequest: it is not JSON (RFC 8259) in UTF-8; the byte's place is given where it is known.
    """
    try:
        return load_strict_json(raw.decode("utf-8") if isinstance(raw, bytes) else raw)
    except UnicodeDecodeError as error:
        raise _unreadable(f"the JSON is not UTF-8 (byte {error.start})", within) from error
    except json.JSONDecodeError as error:
        raise _unreadable(f"the JSON ends or breaks at line {error.lineno}, column {error.colno}", within) from error
    except RecursionError as error:
        raise _unreadable("the JSON is nested too deeply", within) from error
    except LooseJson as error:
        raise _unreadable(f"the JSON {error}", within) from error


def _unreadable(detail: str, within: Sequence[str]) -> BadRequest:
    return BadRequest(detail, errors=[{"detail": detail, "pointer": point(*within)}] if within else [])


def _find_unstorable(value: Any) -> list[str | int] | None:
    """The path to the first string that cannot be stored, from its last part to its first; None if there is none.

    The path is made on the way back, so that it costs nothing for the strings that can be stored.
    """
    if isinstance(value, str):
        return [] if _UNSTORABLE.search(value) else None
    if not isinstance(value, list | dict):
        return None
    for place, item in enumerate(value) if isinstance(value, list) else value.items():
        if isinstance(place, str) and _UNSTORABLE.search(place):
            return []
        path = _find_unstorable(item)
        if path is not None:
            return [*path, place]
    return None
