"""Strict JSON, which every reader understands in the same way: no NaN, no repeated keys, no huge integers."""

import json
from typing import Any, Never

from lens_engine.task.wording import show_label

MAX_DIGITS = 640
"""Most digits of an integer: the smallest value that Python allows for its own limit."""


class LooseJson(ValueError):
    """The text is JSON for Python, but other readers may refuse it or read it differently.

    The message has no subject, so that the caller can put one before it: "holds NaN, which JSON does not have; ...".
    """


def load_strict_json(text: str) -> Any:
    """One JSON value (RFC 8259).

    Raises:
        LooseJson: the value has NaN, an infinity, a repeated key or an integer of more than `MAX_DIGITS` digits.
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
            raise LooseJson(f"has the key {show_label(key)} more than once; keep one of them")
        item[key] = value
    return item


_DECODER = json.JSONDecoder(
    object_pairs_hook=_refuse_repeated_keys, parse_int=_parse_integer, parse_constant=_refuse_constant
)
