"""Template and task: they render examples to the exact strings that a model scores.

A prompt is a list of *segments*, each tokenised alone: the instruction, if there is one, and each demonstration (each
with the separator that ends it), the query (the rendered input before the label word), and the label word's span.
Spaces between the query and the label word belong to the span (" great"), because subword vocabularies hold words with
a leading space. So the template never adds a space at the end of a query.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lens_engine.errors import InvalidDataset
from lens_engine.task.defaults import DEFAULT_SEPARATOR, DEFAULT_TEMPLATE
from lens_engine.task.examples import list_examples, list_labels
from lens_engine.task.instructions import read_instruction
from lens_engine.task.pattern import parse_pattern
from lens_engine.task.verbalizer import Verbalizer
from lens_engine.task.wording import show_label
from lens_engine.types import Example, IndexArray, Permutation

CONTENT_FREE_TEXT = "N/A"
"""The content-free input of contextual calibration (Zhao et al., 2021)."""


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
