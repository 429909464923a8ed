"""Base types of bodies and answers. Bodies are validated, with errors of Pydantic in the words of the fields."""

import difflib
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from app.errors import ErrorItem, Unprocessable, point

_MAX_ITEMS = 10
_MAX_SHOWN_CHARACTERS = 40
_KINDS = {
    "bool_type": "true or false",
    "dict_type": "an object",
    "float_type": "a number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_attributes_type": "an object",
    "model_type": "an object",
    "string_type": "a string",
    "string_unicode": "a string without half surrogate pairs",
}
_FROM_PYDANTIC = re.compile(r"^(?:Value error, |[A-Z]\w+ should )")

Place = tuple[str | int, ...]


class Incoming(BaseModel):
    """Base of request types. Unknown fields are errors, so that no misspelt field is ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    one_of: ClassVar[tuple[str, str] | None] = None
    """Two fields of which exactly one must be given."""

    other_names: ClassVar[dict[str, str]] = {}
    """What clients write in place of a field, and the field that they mean."""

    @model_validator(mode="after")
    def has_one_of_both(self) -> Self:
        if self.one_of is not None:
            first, second = (getattr(self, name) is not None for name in self.one_of)
            if first == second:
                both = "give either `{}` or `{}`, not both".format(*self.one_of)
                raise ValueError(both if first else _miss_one(self.one_of))
        return self


_Body = TypeVar("_Body", bound=Incoming)


def read_model(kind: type[_Body], value: Any, *prefix: str) -> _Body:
    """Validate a JSON value at the place `prefix`. Raises Unprocessable, which names every fault in words."""
    try:
        return kind.model_validate(_leave_out_unknown(kind, value))
    except ValidationError as error:
        items = list(_describe_all(kind, value, error.errors(include_input=False, include_url=False), prefix))
        raise Unprocessable(join_details(items), errors=items) from error


def _leave_out_unknown(kind: type[Incoming], value: Any) -> Any:
    """The value with as many unknown fields as a refusal names: pydantic makes a fault for each of 100,000."""
    if not isinstance(value, dict) or len(value) <= len(kind.model_fields) + _MAX_ITEMS:
        return value
    unknown = itertools.islice((name for name in value if name not in kind.model_fields), _MAX_ITEMS)
    return {name: value[name] for name in (*unknown, *(name for name in kind.model_fields if name in value))}


def error_items(found: Sequence[Any]) -> list[ErrorItem]:
    """Describe errors of parameters and headers, without the invalid input."""
    return [
        {"detail": _describe(item, item["loc"][1:], "the parameter"), "pointer": point(*item["loc"])}
        for item in found[:_MAX_ITEMS]
    ]


def join_details(items: Sequence[ErrorItem]) -> str:
    """All details of a refusal in one line."""
    return "; ".join(item["detail"] for item in items)


def _describe_all(
    kind: type[Incoming], value: Any, found: Sequence[Any], prefix: tuple[str, ...]
) -> Iterator[ErrorItem]:
    whole = f"`{prefix[-1]}`" if prefix else "the body"
    is_field_refused = any(item["loc"] for item in found)  # the validators of the model did not run
    if is_field_refused and kind.one_of is not None and not any(name in value for name in kind.one_of):
        yield {"detail": _miss_one(kind.one_of), "pointer": point(*prefix)}
    for item in found[:_MAX_ITEMS]:
        location = _find_given(value, item["loc"])
        model, place = _find_model(kind, location)
        yield {"detail": _describe(item, place, whole, model), "pointer": point(*prefix, *location)}


def _find_given(value: Any, location: Place) -> Place:
    """The place in what was sent: without the kinds of which a value may be one, and a text that was read as a list of
    one has no first item."""
    place = list[str | int]()
    for part in location:
        if isinstance(value, str) and isinstance(part, int):
            break
        if isinstance(value, list) and isinstance(part, str):
            continue
        is_known = (isinstance(value, dict) and part in value) or (isinstance(value, list) and isinstance(part, int))
        value = value[part] if is_known else None
        place.append(part)
    return tuple(place)


def _describe(item: Any, place: Place, whole: str, model: type[Incoming] | None = None) -> str:
    name = f"`{_show(place)}`" if place else whole
    context = item.get("ctx", {})
    match item["type"]:
        case "missing":
            return f"{name} is missing"
        case "extra_forbidden":
            return f"unknown field {name}{'' if model is None else _hint(model, str(place[-1]))}"
        case "literal_error" | "enum":
            return f"{name} must be {context['expected']}"
        case "list_type" if model is not None and _holds_strings(model, place):
            return f"{name} must be a list of strings"
        case kind if kind in _KINDS:
            return f"{name} must be {_KINDS[kind]}"
        case "string_too_short" | "too_short" if context["min_length"] == 1:
            return f"{name} is empty"
        case "string_too_long":
            return f"{name} has more than {context['max_length']:,} characters"
        case "too_long":
            return f"{name} has more than {context['max_length']:,} items"
        case "greater_than_equal":
            return f"{name} must be at least {context['ge']}"
        case "less_than_equal":
            return f"{name} must be at most {context['le']}"
        case "value_error":
            text = _FROM_PYDANTIC.sub("", item["msg"])
            return f"{name} {text}" if place else text
    return f"{name} is invalid: it should {_FROM_PYDANTIC.sub('', item['msg'])}"


def _find_model(kind: type[Incoming], place: Place) -> tuple[type[Incoming], Place]:
    """The innermost model around a place, and the place within this model."""
    if len(place) > 1 and (inner := _model_of(kind, place[0])) is not None:
        return _find_model(inner, place[1:])
    return kind, place


def _model_of(kind: type[Incoming], name: str | int) -> type[Incoming] | None:
    field = kind.model_fields.get(str(name))
    annotation = None if field is None else field.annotation
    return annotation if isinstance(annotation, type) and issubclass(annotation, Incoming) else None


def _holds_strings(kind: type[Incoming], place: Place) -> bool:
    field = kind.model_fields.get(str(place[-1])) if place else None
    options = () if field is None else (field.annotation, *get_args(field.annotation))
    elements = [element for option in options for element in get_args(option)]
    return any(element is str or str in get_args(element) for element in elements)


def _hint(model: type[Incoming], name: str) -> str:
    """Say which field the client may mean, or else which fields there are."""
    fields = list(model.model_fields)
    inner = [f"{field}.{name}" for field in fields if (at := _model_of(model, field)) and name in at.model_fields]
    alias = [model.other_names[name.lower()]] if name.lower() in model.other_names else []
    close = difflib.get_close_matches(name.lower(), fields, n=1)
    for meant in (*alias, *inner, *close):
        return f"; did you mean `{meant}`?"
    return f"; the fields are {', '.join(fields)}"


def _miss_one(names: tuple[str, str]) -> str:
    return f"`{names[0]}` (or `{names[1]}`) is missing"


def _show(place: Place) -> str:
    """`inputs[1]`, `verbalizer.positive`; cut, and without control characters."""
    parts = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place if part != "[key]")
    plain = "".join(char if char.isprintable() else "?" for char in parts.removeprefix("."))
    return plain if len(plain) <= _MAX_SHOWN_CHARACTERS else f"{plain[: _MAX_SHOWN_CHARACTERS - 1]}…"


class Outgoing(BaseModel):
    """Base of response types."""

    model_config = ConfigDict(frozen=True, from_attributes=True)
