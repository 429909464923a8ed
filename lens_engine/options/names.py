"""The options by their dotted names, and the names that are like a wrong one."""

import difflib
from collections.abc import Iterable

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from lens_engine.config import SelectionConfig

_MAX_SUGGESTIONS = 3
_MAX_CHARACTERS = 60
"""Longest name that is compared (characters)."""

_NEAR = 0.72
"""Least similarity of a suggestion (ratio of difflib, 0 to 1)."""


def list_options(group: type[BaseModel] = SelectionConfig, prefix: str = "") -> dict[str, FieldInfo]:
    """Every option by its dotted name, such as `search.beam_width`."""
    options: dict[str, FieldInfo] = {}
    for name, field in group.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            options |= list_options(kind, f"{prefix}{name}.")
        else:
            options[prefix + name] = field
    return options


def suggest_options(name: str) -> list[str]:
    """At most three options whose dotted names, or whose last parts, are like `name`; the likeliest first."""
    if len(name) > _MAX_CHARACTERS:
        return []
    known, last = list_options(), _last_part(name)
    exact = [option for option in known if _last_part(option) == last]
    if exact:
        return sorted(exact, key=lambda option: -_similarity(name, option))[:_MAX_SUGGESTIONS]
    return _sort_near(
        {option: max(_similarity(name, option), _similarity(last, _last_part(option))) for option in known}
    )


def suggest_words(word: str, known: Iterable[str]) -> list[str]:
    """At most three of the known words that are like `word`; the likeliest first."""
    return _sort_near({one: _similarity(word, one) for one in known}) if len(word) <= _MAX_CHARACTERS else []


def _sort_near(similarities: dict[str, float]) -> list[str]:
    near = [word for word, similarity in similarities.items() if similarity >= _NEAR]
    return sorted(near, key=lambda word: -similarities[word])[:_MAX_SUGGESTIONS]


def _last_part(name: str) -> str:
    return name.rpartition(".")[2]


def _similarity(first: str, second: str) -> float:
    return difflib.SequenceMatcher(None, first, second).ratio()
