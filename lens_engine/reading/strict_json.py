"""JSON that means the same to every reader: no NaN, no repeated keys, no number that only Python could read."""

import json
from typing import Any, Never

from lens_engine.reading.text_checks import show_name

MAX_DIGITS = 640
"""Of a whole number: the smallest limit that Python itself may be set to."""


class LooseJson(ValueError):
    """JSON that Python would take, but that means different things to different readers.

    The message goes on from a subject: "holds NaN, which JSON does not have; use a string or null".
    """


def load_strict_json(text: str) -> Any:
    """One JSON value (RFC 8259).

    Raises:
        LooseJson: see there.
        json.JSONDecodeError: the text is not JSON.
        RecursionError: the value is nested too deeply.
    """
    return _DECODER.decode(text)


def _refuse_constant(name: str) -> Never:
    raise LooseJson(f"holds {name}, which JSON does not have; use a string or null")


def _parse_integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise LooseJson(f"holds a number of more than {MAX_DIGITS} digits; put it in quotes")
    return int(digits)


def _refuse_repeated_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    item: dict[str, object] = {}
    for key, value in pairs:
        if key in item:
            raise LooseJson(f"has the key {show_name(key)} more than once; keep one of them")
        item[key] = value
    return item


_DECODER = json.JSONDecoder(
    object_pairs_hook=_refuse_repeated_keys, parse_int=_parse_integer, parse_constant=_refuse_constant
)
