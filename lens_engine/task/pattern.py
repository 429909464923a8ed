"""Reads the pattern of a template: literals and the slots `{text}` and `{label}`."""

import re
import string

from lens_engine.errors import InvalidTemplate

SLOTS = ("text", "label")
_MAX_PATTERN_CHARACTERS = 20_000


def parse_pattern(pattern: str) -> tuple[str, str, str]:
    """The literals before, between and after the two slots.

    Raises:
        InvalidTemplate: see `Template`.
    """
    if len(pattern) > _MAX_PATTERN_CHARACTERS:
        raise InvalidTemplate(
            f"the template has {len(pattern)} characters; at most {_MAX_PATTERN_CHARACTERS} are allowed",
            field="template",
        )
    literals, slots = _split_pattern(pattern)
    for slot in SLOTS:
        if slot not in slots:
            raise InvalidTemplate(_describe_missing(slot, pattern), field="template")
    if slots != list(SLOTS):
        raise InvalidTemplate(
            "{label} comes before {text}: the model reads from left to right, so put {text} first", field="template"
        )
    return literals[0], literals[1], literals[2]


def _describe_missing(slot: str, pattern: str) -> str:
    """That a slot is missing; a slot in double braces, as other template languages write it, is named."""
    doubled = re.search(rf"\{{\{{\s*{slot}\s*\}}\}}", pattern)
    if doubled is None:
        return f"the template has no {{{slot}}} slot; add one"
    return (
        f"{doubled[0]} at position {doubled.start()} is no slot but text in braces; write {{{slot}}}, in single braces"
    )


def _split_pattern(pattern: str) -> tuple[list[str], list[str]]:
    literals, slots = [""], list[str]()
    position = 0
    try:
        for literal, name, format_spec, conversion in string.Formatter().parse(pattern):
            literals[-1] += literal
            position = _advance(pattern, position, literal)
            if name is None:
                continue
            _check_slot(name, format_spec, conversion, slots, position)
            position += len(name) + 2
            slots.append(name)
            literals.append("")
    except InvalidTemplate:  # a ValueError too, with a message of its own
        raise
    except ValueError as error:
        raise InvalidTemplate(
            f"the template cannot be read near position {position}: {error}; write {{{{ and }}}} for braces",
            field="template",
        ) from error
    return literals, slots


def _check_slot(name: str, format_spec: str | None, conversion: str | None, seen: list[str], position: int) -> None:
    if name not in SLOTS or format_spec or conversion:
        shown = name if len(name) <= 40 else name[:40] + "…"
        raise InvalidTemplate(
            f"{{{shown}}} at position {position} is not a slot; only {{text}} and {{label}} are, "
            "with no attribute, conversion or format (write {{ and }} for braces)",
            field="template",
        )
    if name in seen:
        raise InvalidTemplate(f"{{{name}}} is repeated at position {position}; keep one", field="template")


def _advance(pattern: str, position: int, literal: str) -> int:
    """Position of the next slot: an escaped brace is two characters of the pattern and one of the literal."""
    for character in literal:
        position += 2 if character in "{}" and pattern[position : position + 2] == character * 2 else 1
    return position
