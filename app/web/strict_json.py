"""JSON of a request: strict, and without text that cannot be stored."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from app.errors import BadRequest, Unprocessable
from app.web.problems import point
from lens_engine.reading.strict_json import LooseJson, load_strict_json


def parse_json(raw: bytes | str, *within: str) -> Any:
    """Read one JSON document that will be stored; `within` is where it stands in the request, for pointers.

    Raises:
        BadRequest: it is not JSON (RFC 8259) in UTF-8; the byte's place is given where it is known.
        Unprocessable: a string holds NUL or half a surrogate pair, which no store keeps.
    """
    value = read_json(raw, *within)
    try:
        unstorable = next(_find_unstorable(value, ()), None)
    except RecursionError as error:
        raise _unreadable("the JSON is nested too deeply", within) from error
    if unstorable is not None:
        detail = "a string holds NUL or half a surrogate pair; take it out"
        raise Unprocessable(detail, errors=[{"detail": detail, "pointer": point(*within, *unstorable)}])
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


def _find_unstorable(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, str):
        if "\x00" in value or not _is_encodable(value):
            yield path
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _find_unstorable(item, (*path, index))
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _find_unstorable(name, path)
            yield from _find_unstorable(item, (*path, name))


def _is_encodable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
