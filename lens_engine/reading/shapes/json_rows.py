"""Which rows an object of JSON means."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from lens_engine.reading.columns import LABEL_NAMES, TEXT_NAMES, find_usual, is_usual
from lens_engine.reading.table import NAMED_ROWS
from lens_engine.task.text_checks import show_names
from lens_engine.task.wording import show_count

_DEEPEST = 5
_MANY_TIMES = 10  #: a list with this many times the rows of each other list of an object is the one to read
_USUAL = (TEXT_NAMES, LABEL_NAMES)
TEXTS = ("patterns", "utterances", "examples", "phrases")  #: what a chatbot calls the texts of an intent


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
    if found := next(filter(None, map(_rows_of_intents, (value.get("intents"), value))), None):
        return found
    lists = {key: one for key, one in value.items() if isinstance(one, list) and one}
    tables = {key: one for key, one in lists.items() if isinstance(one[0], dict | list)}
    if tables and (key := _choose_table(tables)) is not None:
        rows = tables.pop(key)
        others_note = f", and not those of {_show_tables(tables)}" if tables else ""
        return FoundRows(rows, f"the rows of {_show_tables({key: rows})} are read{others_note}")
    if tables:
        return FoundRows([], f"several lists in it may be the rows: {_show_tables(tables)}")
    inner = (found for one in value.values() if (found := find_rows(one, depth + 1)))
    return _rows_by_label(value) or next(inner, None)


def _choose_table(tables: Mapping[str, Sequence[Any]]) -> str | None:
    """The training split, the only list with texts and labels, or one that is far longer than the others."""
    labelled = [
        key
        for key, (one, *_) in tables.items()
        if isinstance(one, dict) and all(find_usual(list(one), usual) for usual in _USUAL)
    ]
    largest = max(tables, key=lambda key: len(tables[key]))
    others = [len(one) for key, one in tables.items() if key != largest]
    is_alone = _MANY_TIMES * max(others, default=0) <= len(tables[largest])
    return "train" if "train" in tables else labelled[0] if len(labelled) == 1 else largest if is_alone else None


def _rows_of_intents(value: object) -> FoundRows | None:
    """The rows of intents, each with a list of its texts: objects in a list, or by the name of the intent."""
    intents = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(intents, list) or len(intents) < 2:
        return None
    if not all(isinstance(one, dict) and any(isinstance(one.get(key), list) for key in TEXTS) for one in intents):
        return None
    if isinstance(value, dict):
        intents = [{"label": label, **{key: one[key] for key in TEXTS if key in one}} for label, one in value.items()]
    return FoundRows(intents, "the rows of its intents are read, one for each text")


def _show_tables(tables: Mapping[str, Sequence[Any]]) -> str:
    return ", ".join(f"{key!r} ({show_count(len(one), 'row')})" for key, one in islice(tables.items(), 10))


def _rows_by_label(value: Mapping[str, Any]) -> FoundRows | None:
    """The rows of labels, each with a list of its texts, or of texts, each with its label."""
    items = list(value.values())
    if any(map(is_usual, value)) or len(value) < 2:
        return None
    if all(isinstance(one, list) and all(isinstance(text, str) for text in one) for one in items):
        pairs = [{"text": text, "label": label} for label, texts in value.items() for text in texts]
        return FoundRows(pairs, f"each key is read as the label of its texts: {show_names(list(value))}")
    are_labels = all(isinstance(one, str | int | float | None) for one in items) and 2 * len(set(items)) <= len(items)
    if are_labels and len(items) > NAMED_ROWS // 2:
        pairs = [{"text": text, "label": label} for text, label in value.items()]
        return FoundRows(pairs, "each key is read as a text, and its value as the label")
    return None
