"""Which rows an object of JSON or YAML means."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from lens_engine.reading.columns import LABEL_NAMES, TEXT_NAMES, find_usual, is_usual
from lens_engine.reading.table import NAMED_ROWS
from lens_engine.task.text_checks import show_names
from lens_engine.task.wording import show_count

_TEXTS = ("patterns", "utterances", "examples", "phrases", "text")  #: what a chatbot calls the texts of an intent
_DEEPEST = 5
_MANY_TIMES = 10  #: a list with this many times the rows of each other list of an object is the one to read

Found = tuple[list[Any], str]
"""The rows that an object holds, and what is read; none if it may be several things, and what it may be."""


def find_rows(value: Any, depth: int = 0) -> Found | None:
    """The rows within a value; None if nothing in it can be rows."""
    if isinstance(value, list) and value and isinstance(value[0], dict | list):
        return value, ""
    if not isinstance(value, dict) or depth > _DEEPEST:
        return None
    if found := next(filter(None, map(_find_intents, (value.get("intents"), value))), None) or _find_viewed(value):
        return found
    tables = {
        key: one for key, one in value.items() if isinstance(one, list) and one and isinstance(one[0], dict | list)
    }
    if tables and (key := _choose_table(tables)) is not None:
        rows = tables.pop(key)
        others_note = f", and not those of {_show_tables(tables)}" if tables else ""
        return rows, f"the rows of {_show_tables({key: rows})} are read{others_note}"
    if tables:
        return [], f"several lists in it may be the rows: {_show_tables(tables)}"
    inner = (found for one in value.values() if (found := find_rows(one, depth + 1)))
    return _find_texts_by_label(value) or next(inner, None)


def _choose_table(tables: Mapping[str, Sequence[Any]]) -> str | None:
    """The training split, the only list with texts and labels, or one that is far longer than the others."""
    labelled = [
        key
        for key, (one, *_) in tables.items()
        if isinstance(one, dict) and all(find_usual(list(one), usual) for usual in (TEXT_NAMES, LABEL_NAMES))
    ]
    largest = max(tables, key=lambda key: len(tables[key]))
    others = [len(one) for key, one in tables.items() if key != largest]
    is_alone = _MANY_TIMES * max(others, default=0) <= len(tables[largest])
    return "train" if "train" in tables else labelled[0] if len(labelled) == 1 else largest if is_alone else None


def _find_intents(value: object) -> Found | None:
    """The rows of intents, each with a list of its texts: objects in a list, or by the name of the intent."""
    intents = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(intents, list) or len(intents) < 2 or not all(isinstance(one, dict) for one in intents):
        return None
    if (key := find_texts(intents[:NAMED_ROWS])) is None:
        return None
    if isinstance(value, dict):
        intents = [{"label": label, key: one.get(key)} for label, one in value.items()]
    return intents, "the rows of its intents are read, one for each text"


def _find_viewed(value: Mapping[str, Any]) -> Found | None:
    """The rows that the viewer of Hugging Face shows, with names of classes in place of their numbers."""
    match value:
        case {"features": [*features], "rows": [{"row": dict()}, *_] as rows}:
            types = {one.get("name"): one.get("type") for one in features if isinstance(one, dict)}
            classes = {name: one["names"] for name, one in types.items() if isinstance(one, dict) and one.get("names")}
            shown = [one["row"] for one in rows if isinstance(one, dict) and isinstance(one.get("row"), dict)]
            named = [{**row, **{one: _name_class(row.get(one), classes[one]) for one in classes}} for row in shown]
            return named, "the rows of a viewer are read, with the names of their classes"
    return None


def _name_class(value: object, names: Sequence[object]) -> object:
    return names[value] if isinstance(value, int) and 0 <= value < len(names) else value


def _show_tables(tables: Mapping[str, Sequence[Any]]) -> str:
    return ", ".join(f"{key!r} ({show_count(len(one), 'row')})" for key, one in islice(tables.items(), 10))


def _find_texts_by_label(value: Mapping[str, Any]) -> Found | None:
    """The rows of labels, each with a list of its texts."""
    lists = [one for one in value.values() if isinstance(one, list) and all(isinstance(text, str) for text in one)]
    if any(map(is_usual, value)) or not 2 <= len(value) == len(lists):
        return None
    pairs = [{"text": text, "label": label} for label, texts in value.items() for text in texts]
    return pairs, f"each key is read as the label of its texts: {show_names(list(value))}"


def find_texts(sample: Sequence[Mapping[str, Any]]) -> str | None:
    """The key of the texts of intents, if the first rows are intents with several texts each, and no text beside."""
    for key in _TEXTS:
        lists = [one.get(key) for one in sample]
        texts = [text for one in lists if isinstance(one, list) for text in one if isinstance(text, str | dict)]
        if 1 < len(sample) < len(texts) and all(isinstance(one, list) for one in lists):
            others = {name for one in sample for name, value in one.items() if isinstance(value, str)}
            return None if find_usual(sorted(others - {"description"}), TEXT_NAMES) else key
    return None
