"""Template and task: they render examples to the exact strings that a model scores.

A prompt is a list of *segments*, each tokenised alone: the instruction, if there is one, and each demonstration (each
with the separator that ends it), the query (the rendered input before the label word), and the label word's span.
Spaces between the query and the label word belong to the span (" great"), because subword vocabularies hold words with
a leading space. So the template never adds a space at the end of a query.
"""

import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lens_engine.errors import InvalidDataset, InvalidInstruction, InvalidTemplate
from lens_engine.prompt.examples import list_examples, list_labels
from lens_engine.prompt.text_checks import MAX_MARKS, UNSTORABLE, has_long_run, is_blank
from lens_engine.prompt.verbalizer import DEFAULT_SEPARATOR, DEFAULT_TEMPLATE, Verbalizer
from lens_engine.prompt.wording import show_label
from lens_engine.types import Example, IndexArray, Permutation

SLOTS = ("text", "label")
_MAX_PATTERN_CHARACTERS = 20_000


def parse_pattern(pattern: str) -> tuple[str, str, str]:
    """The literals before, between and after the two slots."""
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


@dataclass(frozen=True)
class Template:
    """A pattern with one `{text}` and, after it, one `{label}`. Write `{{` and `}}` for braces.

    Rendering concatenates once, so a text that contains `{label}` or `{{` is not changed.

    Raises:
        InvalidTemplate: a slot is missing, repeated or unknown, or has a conversion or a format; or `{label}`
            comes before `{text}`. The message gives the position (characters, from 0).
    """

    pattern: str

    def __post_init__(self) -> None:
        self._literals  # noqa: B018  parsing is the validation

    @cached_property
    def _literals(self) -> tuple[str, str, str]:
        return parse_pattern(self.pattern)

    def render_query(self, text: str) -> str:
        """The rendered input up to the label word, without the spaces that precede it."""
        before, after = self.around_text
        return f"{before}{text}{after}"

    @property
    def around_text(self) -> tuple[str, str]:
        """What a rendered query has before its text, and after."""
        before, between, _ = self._literals
        return before, between.rstrip(" ")

    def render_span(self, label_word: str) -> str:
        """The label word with the spaces that precede it; the model scores this span."""
        between = self._literals[1]
        return between[len(between.rstrip(" ")) :] + label_word

    @property
    def tail(self) -> str:
        """The part of the pattern after the label word."""
        return self._literals[2]


@dataclass(frozen=True, init=False)
class Task:
    """A classification task: template, verbalizer, the separator that ends a demonstration, and an instruction."""

    template: Template
    verbalizer: Verbalizer
    separator: str = DEFAULT_SEPARATOR
    instruction: str = field(default="", kw_only=True)  #: stands once before the demonstrations; "" for none

    def __init__(
        self,
        template: Template | str,
        verbalizer: Verbalizer | Mapping[str, str],
        separator: str = DEFAULT_SEPARATOR,
        *,
        instruction: str = "",
    ) -> None:
        """Take a pattern as a template, and a mapping of labels to label words as a verbalizer.

        Args:
            instruction: a text that stands once before the demonstrations, as it is; `{text}` in it is text. The
                separator ends it. "" for none.

        Raises:
            InvalidTemplate, InvalidVerbalizer: see `Template` and `Verbalizer`.
            InvalidInstruction: see `read_instruction`.
            TypeError: a part has another type.
        """
        if isinstance(template, str):
            template = Template(template)
        if isinstance(verbalizer, Mapping):
            verbalizer = Verbalizer(verbalizer)
        parts = {
            "template": (template, Template),
            "verbalizer": (verbalizer, Verbalizer),
            "separator": (separator, str),
            "instruction": (instruction, str),
        }
        for name, (part, kind) in parts.items():
            if not isinstance(part, kind):
                raise TypeError(f"the {name} of a task is of type {type(part).__name__}; give a {kind.__name__}")
            object.__setattr__(self, name, part)
        object.__setattr__(self, "instruction", read_instruction(instruction))

    @classmethod
    def for_labels(
        cls,
        labels: Iterable[str],
        template: str = DEFAULT_TEMPLATE,
        separator: str = DEFAULT_SEPARATOR,
        *,
        instruction: str = "",
    ) -> "Task":
        """The task in which each label is its own label word; `credit_card` is written `credit card`.

        Raises:
            InvalidTemplate: see `Template`.
            InvalidVerbalizer: see `Verbalizer.of_labels`.
            InvalidInstruction: see `read_instruction`.
        """
        return cls(Template(template), Verbalizer.of_labels(labels), separator, instruction=instruction)

    @classmethod
    def for_examples(
        cls,
        examples: Iterable[Any],
        template: str = DEFAULT_TEMPLATE,
        separator: str = DEFAULT_SEPARATOR,
        *,
        instruction: str = "",
    ) -> "Task":
        """As `for_labels`, with the labels of these examples, sorted. They have any form that `Problem` takes.

        Raises:
            InvalidTemplate, InvalidVerbalizer, InvalidInstruction: as `for_labels`.
            TypeError, InvalidDataset: as `Problem`.
        """
        return cls.for_labels(list_labels(list_examples(examples)), template, separator, instruction=instruction)

    @property
    def labels(self) -> tuple[str, ...]:
        return self.verbalizer.labels

    @cached_property
    def label_spans(self) -> tuple[str, ...]:
        """The span that is scored for each label, in the order of `labels`."""
        return tuple(self.template.render_span(word) for word in self.verbalizer.words.values())

    @cached_property
    def label_indices(self) -> dict[str, int]:
        return {label: index for index, label in enumerate(self.labels)}

    def index_labels(self, examples: Sequence[Example], field: str = "dataset") -> IndexArray:
        """Index of each example's label among `labels`  # [examples].

        Raises:
            InvalidDataset: an example's label has no label word.
        """
        for example in examples:
            if example.label not in self.label_indices:
                raise InvalidDataset(
                    f"{example.place} has the label {show_label(example.label)}, which has no label word; "
                    "add the label to the verbalizer",
                    field=f"{field}.label",
                    row=example.row,
                )
        return np.array([self.label_indices[example.label] for example in examples], dtype=np.intp)

    def render_query(self, text: str) -> str:
        return self.template.render_query(text)

    def render_demonstration(self, example: Example) -> str:
        """One segment: the filled template, then the separator."""
        span = self.template.render_span(self.verbalizer.words[example.label])
        return f"{self.render_query(example.text)}{span}{self.template.tail}{self.separator}"

    @property
    def opening(self) -> tuple[str, ...]:
        """The segment that begins every prefix, with demonstrations or without; nothing without an instruction."""
        return (f"{self.instruction}{self.separator}",) if self.instruction else ()

    def render_prefix(self, demonstrations: Sequence[Example]) -> tuple[str, ...]:
        """The segments before a query: the opening, then the demonstrations."""
        return (*self.opening, *(self.render_demonstration(example) for example in demonstrations))

    def render_permutations(
        self, examples: Sequence[Example], permutations: Sequence[Permutation]
    ) -> list[tuple[str, ...]]:
        """The prefix of each permutation of these examples."""
        return [self.render_prefix([examples[index] for index in permutation]) for permutation in permutations]

    def render_prompt(self, demonstrations: Sequence[Example], text: str) -> str:
        """The prompt for `text`, up to the label word: byte for byte the string that a selection scores."""
        return self.join_prompt("".join(self.render_prefix(demonstrations)), text)

    def join_prompt(self, prefix: str, text: str) -> str:
        """The prompt for `text` after a prefix whose segments are joined."""
        return prefix + self.render_query(text)


# log p(longer word) = log p(shorter word) + log p(rest), so where the tokens of one label word begin those of another,
# the longer word is never the likelier one. What follows a label word in a demonstration tells the two apart: the text
# of the template after `{label}`, and then the separator. So all label words of such a task are scored with the same
# beginning of it (`lens_engine/model/labels.py` finds how much of it is needed).
@dataclass(frozen=True, init=False)
class EndedTask(Task):
    """A task whose spans are each label word with what ends it. Prompts are those of the task without it."""

    label_end: str = field(kw_only=True)

    def __init__(self, task: Task, label_end: str) -> None:
        super().__init__(task.template, task.verbalizer, task.separator, instruction=task.instruction)
        object.__setattr__(self, "label_end", label_end)

    @cached_property
    def label_spans(self) -> tuple[str, ...]:
        return tuple(span + self.label_end for span in self.without_end().label_spans)

    def without_end(self) -> Task:
        """The task whose spans are label words alone."""
        return Task(self.template, self.verbalizer, self.separator, instruction=self.instruction)


def find_label_end(task: Task) -> str:
    """What ends the label words of a task; empty if they are scored alone."""
    return task.label_end if isinstance(task, EndedTask) else ""


MAX_INSTRUCTION_CHARACTERS = 20_000
_MOST_LISTED = 20  #: largest number of label words that an instruction lists


def read_instruction(text: str) -> str:
    """An instruction as a prompt holds it; "" means that there is none."""
    if len(text) > MAX_INSTRUCTION_CHARACTERS:
        fault = f"has {len(text):,} characters; at most {MAX_INSTRUCTION_CHARACTERS:,} are allowed"
    elif UNSTORABLE.search(text):
        fault = "holds NUL or half a surrogate pair; take it out"
    elif has_long_run(text):
        fault = f"has more than {MAX_MARKS} combining marks (accents) in a row, which no script needs; remove them"
    elif text and is_blank(text):
        fault = "has only spaces; write a text, or leave it out"
    else:
        return text
    raise InvalidInstruction(f"the instruction {fault}", field="instruction")


def suggest_instructions(words: Iterable[str], *, names_them: bool = True) -> tuple[str, ...]:
    """Three instructions for a task with these label words: one names them, one asks, one describes the job.

    More than 20 label words are not listed.

    Args:
        names_them: whether the label words may be listed; codes that a person replaces by words are not.
    """
    found = list(words)
    if len(found) > _MOST_LISTED or not names_them:
        return (
            f"Each text has one of {len(found)} labels.",
            f"Which of {len(found)} labels fits each text?",
            f"You sort texts into {len(found)} classes. Read each text, and answer with the label of its class.",
        )
    *first, last = found
    named, either = (f"{', '.join(first)} {joint} {last}" for joint in ("and", "or"))
    return (
        f"The labels are {named}.",
        f"Which label fits each text: {either}?",
        f"You sort texts into {len(found)} classes. Read each text, and answer with the label of its class: {either}.",
    )
