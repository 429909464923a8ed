"""The rows that one object of JSON means: a list in it, columns as lists, texts by label, or what pandas writes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from lens_engine.reading.columns import is_usual
from lens_engine.reading.table import NAMED_ROWS
from lens_engine.task.text_checks import show_names
from lens_engine.task.wording import show_count

_LEAST_SHARE = 0.5
_DEEPEST = 5
_MANY_TIMES = 10
"""A list with this many times the rows of each other list of an object is the one to read."""


class FoundRows(NamedTuple):
    """What an object holds."""

    items: list[Any]  #: rows; none if it may be several things
    note: str  #: what is read, or what it may be


def find_rows(value: Any, depth: int = 0) -> FoundRows | None:
    """The rows within a value; None if nothing in it can be rows."""
    if isinstance(value, list) and value and isinstance(value[0], dict | list):
        return FoundRows(value, "")
    if not isinstance(value, dict) or depth > _DEEPEST:
        return None
    if isinstance(value.get("columns"), list) and isinstance(value.get("data"), list):  # pandas, orient="split"
        names = list(map(str, value["columns"]))
        rows = [dict(zip(names, one, strict=False)) for one in value["data"] if isinstance(one, list)]
        return FoundRows(rows, "rows of 'data', whose columns are in 'columns'")
    lists = {key: one for key, one in value.items() if isinstance(one, list) and one}
    tables = {key: one for key, one in lists.items() if isinstance(one[0], dict | list)}
    largest = max(tables, key=lambda key: len(tables[key]), default="")
    others = [len(one) for key, one in tables.items() if key != largest]
    if tables and ("train" in tables or _MANY_TIMES * max(others, default=0) <= len(tables[largest])):
        key = "train" if "train" in tables else largest
        rows = tables.pop(key)
        others_note = f", and not those of {_list(tables)}" if tables else ""
        return FoundRows(rows, f"the rows of {_list({key: rows})} are read{others_note}")
    if tables:
        return FoundRows([], f"several lists in it may be the rows: {_list(tables)}")
    if len(lists) == len(value):
        return _read_lists(lists)
    inner = (found for one in value.values() if (found := find_rows(one, depth + 1)))
    return _read_objects(value) or next(inner, None)


def _list(tables: Mapping[str, Sequence[Any]]) -> str:
    return ", ".join(f"{key!r} ({show_count(len(one), 'row')})" for key, one in islice(tables.items(), 10))


def _read_lists(lists: Mapping[str, list[Any]]) -> FoundRows | None:
    """The rows of columns, each a list; or of labels, each with its texts."""
    sizes = set(map(len, lists.values()))
    repeats = any(map(_has_labels, lists.values()))
    if len(sizes) == 1 and len(lists) > 1 and (repeats or any(map(is_usual, lists))):
        rows = [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
        return FoundRows(rows, "each list is read as a column")
    if len(lists) > 1 and all(isinstance(text, str) for texts in lists.values() for text in texts):
        pairs = [{"text": text, "label": label} for label, texts in lists.items() for text in texts]
        return FoundRows(pairs, f"each key is read as the label of its texts: {show_names(list(lists))}")
    return None


def _read_objects(value: Mapping[str, Any]) -> FoundRows | None:
    """The rows of columns by the names of rows, of rows by their names, or of labels by their texts."""
    inner = list(value.values())
    if len(inner) > 1 and all(isinstance(one, dict) and one for one in inner):
        keys = list(inner[0])
        if all(list(one) == keys for one in inner) and len(keys) > len(inner):  # pandas, orient="columns"
            rows = [{name: column[key] for name, column in value.items()} for key in keys]
            return FoundRows(rows, "each object is read as a column")
        if len({*chain.from_iterable(inner)}) <= 2 * len(keys):
            return FoundRows(inner, "each object is read as a row")
    if len(inner) > NAMED_ROWS // 2 and _has_labels(inner):
        pairs = [{"text": text, "label": label} for text, label in value.items()]
        return FoundRows(pairs, "each key is read as a text, and its value as the label")
    return None


def _has_labels(values: Sequence[Any]) -> bool:
    """Whether values recur as labels do."""
    if not all(isinstance(one, str | int | float | None) for one in values):
        return False
    return len(Counter(values)) <= _LEAST_SHARE * len(values)
