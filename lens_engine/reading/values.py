"""Reads the values of a row as text and label."""

import ast
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from lens_engine.reading.columns import ColumnNames, WantedColumns, list_columns
from lens_engine.reading.dialect import UNDECODED, quote_around
from lens_engine.reading.strict_json import MAX_DIGITS
from lens_engine.reading.table import Fault
from lens_engine.task.text_checks import show_names

_LONGEST_LIST = 2_000
_SET, _UNSET = frozenset({"1", "true", "yes", "x"}), frozenset({"", "0", "false", "no", "none"})
_KINDS = (
    (bool, "true or false"),
    (int | float, "a number"),
    (list, "a list"),
    (dict, "an object"),
)


class Missing(NamedTuple):
    """The row has no such column."""


MISSING = Missing()


class Several(NamedTuple):
    """Several labels of one row."""

    labels: tuple[str, ...]


def pick(cells: Mapping[str, object], name: str) -> object:
    """The value of a column, or within objects (`fields.text`); `MISSING` if there is none."""
    if name in cells:
        return cells[name]
    value: object = cells
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return MISSING
        value = value[part]
    return value


def read_text(cells: Mapping[str, object], wanted: ColumnNames) -> object:
    """The text of a row: a string, several joined by line breaks; None for an empty value; else what is there."""
    if isinstance(wanted, str):
        return pick(cells, wanted)
    found = [pick(cells, name) for name in wanted]
    odd = [one for one in found if not isinstance(one, str | None) and one is not MISSING]
    if odd or all(one is MISSING for one in found):
        return odd[0] if odd else MISSING
    return "\n".join(one for one in found if isinstance(one, str) and one.strip())


def read_label(cells: Mapping[str, object], wanted: ColumnNames) -> object:
    """The label of a row: a string; None for an empty value; `Several`; else what is there."""
    if not isinstance(wanted, str):
        ones = tuple(name for name in wanted if is_set(pick(cells, name)))
        return Several(ones) if len(ones) > 1 else ones[0] if ones else None
    value = pick(cells, wanted)
    if value is MISSING and ": " in wanted:
        column, _, label = wanted.partition(": ")
        value = show_value(pick(cells, column))
        labels = value.labels if isinstance(value, Several) else split_labels(value) if isinstance(value, str) else ()
        return value if value is MISSING else label if label in labels else f"not {label}"
    return show_value(value)


def split_labels(value: str) -> list[str]:
    """The parts of a string, if a delimiter separates some."""
    separator = next((one for one in "|;," if one in value), None)
    return [value] if separator is None else [part.strip() for part in value.split(separator)]


def show_value(value: object) -> object:
    """A value of a label as a string: whole numbers in digits, true and false, the only value of a list."""
    if isinstance(value, str):
        return _read_list(value) if value.startswith("[") and value.endswith("]") else value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, float) and value != value:  # NaN
        return None
    if isinstance(value, int) and abs(value) < 10**MAX_DIGITS:
        return str(value)
    if isinstance(value, list):
        items = [show_value(one) for one in value]
        if all(isinstance(one, str) for one in items):
            return Several(tuple(map(str, items))) if len(items) > 1 else items[0] if items else None
    return value


@lru_cache(maxsize=4096)
def _read_list(value: str) -> object:
    """A list that is written as a string, as `['billing']`; the string if it is none."""
    try:
        items = ast.literal_eval(value) if len(value) <= _LONGEST_LIST else value
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value
    return show_value(items) if isinstance(items, list) else value


def is_set(value: object) -> bool | None:
    """Whether a flag is set; None if the value is no flag."""
    shown = str(show_value(value) if value is not None else "").strip().casefold()
    return True if shown in _SET else False if shown in _UNSET else None


def find_value_fault(
    cells: Mapping[str, object], text: object, label: object, wanted: WantedColumns, encoding: str | None
) -> Fault | None:
    """What hinders the reading of values as text and label; None of good and of blank ones.

    Args:
        encoding: by which the file was decoded, if a surrogate is a byte that is not of it.
    """
    missing = [name for name, value in ((wanted.text, text), (wanted.label, label)) if value is MISSING]
    if missing:
        found = f"keys found: {show_names(list(cells)) or 'none'}"
        if len(missing) == 1:
            column = show_columns(missing[0])
            kind = "without a label" if missing[0] == wanted.label else "without a text"
            return Fault(kind, f"is missing; {found}", column)
        missing_keys = f"has no keys {show_names(list_columns(*missing))}; {found}"
        return Fault("without a text", f"{missing_keys}; rename them, or name the keys to read ({wanted.parameters})")
    for name, value in ((wanted.text, text), (wanted.label, label)):
        if not isinstance(value, str | Several | None):
            return Fault(f"whose {show_columns(name)} is no string", _refuse_type(value), show_columns(name))
        if encoding is not None and isinstance(value, str) and (broken := UNDECODED.search(value)):
            words = quote_around(value, broken.start())
            advice = "save the file as UTF-8, or name its encoding (encoding)"
            detail = f"holds bytes that are not {encoding} at {words}; {advice}"
            return Fault(f"with bytes that are not {encoding}", detail, show_columns(name))
    return None


def show_columns(wanted: ColumnNames | None) -> str:
    """The names of columns, for a message."""
    return ", ".join(list_columns(wanted))


def _refuse_type(value: object) -> str:
    if isinstance(value, list) and value and isinstance(value[0], list | dict):
        return "marks parts of the text, as for entities, and is no label of the whole text; give each row one"
    kind = next((kind for known, kind in _KINDS if isinstance(value, known)), "of another type")
    return f"is {kind}, not a string; put it in quotes"
