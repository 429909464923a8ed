"""Checks of a single string, and lists of names in messages."""

import re
from collections.abc import Sequence
from typing import Any

from lens_engine.task.unicode_form import MAX_MARKS, fold_text, has_long_run
from lens_engine.task.wording import show_label

MAX_SHOWN = 10
"""Largest number of names or rows in one message."""

NUL = "\x00"
SURROGATE = re.compile("[\ud800-\udfff]")
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
BIDI_CONTROLS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
ZERO_WIDTH = re.compile("[\u200b-\u200d\u2060-\u2064\ufeff]")


def is_blank(value: str | None) -> bool:
    """Whether a value is None or invisible: only spaces and characters that nobody sees."""
    if value is None or not value.strip():
        return True
    # Fast path: spaces, controls and invisible characters are never alphanumeric.
    return not value[0].isalnum() and not fold_text(value)


def find_fault(value: str, max_characters: int) -> str | None:
    """Why a value cannot be used, as a sentence without its subject (the column); None if it can be used."""
    if len(value) > max_characters:
        return f"is longer than {max_characters:,} characters; shorten it"
    if NUL in value:
        return "holds a NUL character (U+0000); remove it, or save the file as UTF-8 if it is UTF-16"
    if SURROGATE.search(value):
        return "holds half of a surrogate pair (U+D800 to U+DFFF), which is no character; remove it"
    if has_long_run(value):
        return f"has more than {MAX_MARKS} combining marks (accents) in a row, which no script needs; remove them"
    return None


def replace_unstorable(cell: Any) -> Any:
    """The value, with U+FFFD for each character that no store keeps: NUL, and half of a surrogate pair.

    A list or an object is the same object if it holds none, and a copy otherwise.
    """
    if isinstance(cell, str):
        return cell if cell.isascii() and NUL not in cell else UNSTORABLE.sub("\ufffd", cell)
    if isinstance(cell, list):
        items = [replace_unstorable(item) for item in cell]
        return items if items != cell else cell
    if isinstance(cell, dict):
        members = {replace_unstorable(name): replace_unstorable(item) for name, item in cell.items()}
        return members if members != cell else cell
    return cell


def show_places(places: Sequence[str], number: int = 0) -> str:
    """The first of lines or rows, and how many more there are.

    Args:
        number: of all, if it is larger.
    """
    more = max(number, len(places)) - MAX_SHOWN
    return ", ".join(places[:MAX_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def show_names(names: Sequence[str]) -> str:
    """The first names, and the number of further names."""
    shown = ", ".join(show_label(name) for name in names[:MAX_SHOWN])
    return f"{shown} and {len(names) - MAX_SHOWN:,} more" if len(names) > MAX_SHOWN else shown
