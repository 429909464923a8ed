"""The options by their dotted names, and what is wrong with given ones."""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from lens_engine.config import SelectionConfig
from lens_engine.errors import InvalidConfig, InvalidInput, join_faults

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
    likely = {option: max(_similarity(name, option), _similarity(last, _last_part(option))) for option in known}
    groups = {option.partition(".")[0] for option in known} - known.keys()
    return _sort_near(likely | {group: _similarity(name, group) for group in groups})


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


_MAX_PROBLEMS = 10
_MAX_SHOWN = 60
"""Longest part of a given value that a message repeats (characters)."""


def refuse_options(error: ValidationError) -> InvalidInput:
    """The refusal of options that do not fit `SelectionConfig`; see `join_faults`."""
    found = error.errors(include_url=False)[:_MAX_PROBLEMS]
    return join_faults([problem for item in found for problem in _describe(item)][:_MAX_PROBLEMS])


def _describe(item: Any) -> Iterator[InvalidConfig]:
    """What is wrong, from an entry of `ValidationError.errors`."""
    path, value = ".".join(part for part in item["loc"] if isinstance(part, str)), item["input"]
    place = f"options.{path}" if path else "options"
    if item["type"] == "extra_forbidden":
        for name in _list_names(path, value):
            yield InvalidConfig(_describe_unknown(name), field=f"options.{name}")
    elif item["type"] == "value_error":  # options in conflict; the message is that of `lens_engine.config`
        yield InvalidConfig(str(item["ctx"]["error"]), field=place)
    else:
        yield InvalidConfig(_describe_value(path, value, item["msg"]), field=place)


def _list_names(path: str, value: object) -> list[str]:
    """The dotted names that were given below an unknown name; the name itself if nothing is below it."""
    if not isinstance(value, Mapping) or not value:
        return [path]
    return [f"{path}.{name}" for name in list(value)[:_MAX_PROBLEMS]]


def _describe_unknown(name: str) -> str:
    near = " or ".join(suggest_options(name))
    advice = f"did you mean {near}?" if near else "docs/reference.md lists the options"
    return f"there is no option {_show(name)}; {advice}"


def _describe_value(path: str, value: object, said: str) -> str:
    if path in list_options():
        return f"{path}: {said[:1].lower()}{said[1:]}; it is {_show(value)}"
    examples = [option for option in list_options() if option.startswith(f"{path}.")]
    such = f", such as {examples[0]}" if examples else ""
    return f"{path} is a group of options{such}; it is {_show(value)}"


def _show(value: object) -> str:
    try:
        shown = repr(value) if isinstance(value, str) else json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        shown = f"a value of the type {type(value).__name__}"
    return shown if len(shown) <= _MAX_SHOWN else f"{shown[:_MAX_SHOWN]}…"
