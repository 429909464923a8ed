"""Strict JSON, which every reader understands in the same way: no NaN, repeated keys, huge numbers or deep lists."""

import json
from collections.abc import Callable
from math import isinf
from typing import Any, Never

from lens_engine.prompt.wording import show_label

MAX_DIGITS = 640  #: most digits of an integer: the smallest value that Python allows for its own limit
MAX_DEPTH = 100
"""Most objects and lists within each other. Stores and other readers recurse, and each gives up at another depth."""


class LooseJson(ValueError):
    """The text is JSON for Python, but other readers may refuse it or read it differently. The message has no subject,
    so that the caller can put one before it.
    """


def load_strict_json(text: str) -> Any:
    """One JSON value (RFC 8259).

    Raises:
        LooseJson: the value has NaN, an infinity, a repeated key, an integer of more than `MAX_DIGITS` digits or a
            number beyond the range of a double.
        json.JSONDecodeError: the text is not JSON.
        RecursionError: the value is nested more than `MAX_DEPTH` deep.
    """
    return _refuse_deep(_STRICT.decode(text), text)


def scan_row(text: str, start: int) -> tuple[Any, int]:
    """The JSON value that begins at a place of a text, and the place after it. NaN and infinities are null, and a value
    that is nested too deeply is `LooseJson`. Other errors are those of `load_strict_json`.
    """
    try:
        value, end = _OF_ROWS.raw_decode(text, start)
        return (_refuse_deep(value, text[start:end]) if isinstance(value, dict | list) else value), end
    except RecursionError:
        raise LooseJson("is nested too deeply; keep only the keys that are needed") from None


def _refuse_deep(value: Any, text: str) -> Any:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return value
    level = [value]
    for _ in range(MAX_DEPTH):
        inner = (child for one in level for child in (one.values() if isinstance(one, dict) else one))
        level = [child for child in inner if isinstance(child, dict | list)]
    if level:
        raise RecursionError(f"more than {MAX_DEPTH} objects and lists are within each other")
    return value


def _refuse_constant(name: str) -> Never:
    raise LooseJson(f"holds {name}, which JSON does not have; use a string or null")


def _parse_integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise LooseJson(f"holds a number of more than {MAX_DIGITS} digits; put it in quotes")
    return int(digits)


def _parse_float(digits: str) -> float:
    number = float(digits)
    if isinf(number):
        raise LooseJson("holds a number beyond the range of a double (some 1.8e308); put it in quotes")
    return number


def _refuse_repeated_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    item: dict[str, object] = {}
    for key, value in pairs:
        if key in item:
            raise LooseJson(f"has the key {show_label(key)} more than once; keep one of them")
        item[key] = value
    return item


def _make_decoder(parse_constant: Callable[[str], None]) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=_refuse_repeated_keys,
        parse_float=_parse_float,
        parse_int=_parse_integer,
        parse_constant=parse_constant,
    )


_STRICT, _OF_ROWS = _make_decoder(_refuse_constant), _make_decoder(lambda _: None)
