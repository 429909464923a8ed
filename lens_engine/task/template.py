"""Template, verbalizer and task: they render examples to the exact strings that a model scores.

A prompt is a list of *segments*, each tokenised alone: each demonstration (with the separator that
ends it), the query (the rendered input before the label word), and the label word's span. Spaces
between the query and the label word belong to the span (" great"), because subword vocabularies hold
words with a leading space. So the template never adds a space at the end of a query.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lens_engine.errors import InvalidDataset, InvalidVerbalizer
from lens_engine.task.defaults import DEFAULT_SEPARATOR, DEFAULT_TEMPLATE, word_of_label
from lens_engine.task.examples import list_examples, list_labels
from lens_engine.task.pattern import parse_pattern
from lens_engine.task.special_tokens import drop_marks
from lens_engine.task.unicode_form import MAX_MARKS, canonical_form, has_long_run
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
        return f"{before}{drop_marks(text)}{after}"

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


@dataclass(frozen=True)
class Verbalizer:
    """One label word (one or more tokens) for each label; `words` gives the order of the labels.

    Raises:
        InvalidVerbalizer: fewer than two labels, an empty word, one word for two labels, or a label or word with more
            than 30 combining marks in a row.
    """

    words: Mapping[str, str]

    def __post_init__(self) -> None:
        if not isinstance(self.words, Mapping):
            raise TypeError(f"the label words are of type {type(self.words).__name__}; give a mapping label -> word")
        if len(self.words) < 2:
            raise InvalidVerbalizer(
                f"a verbalizer needs at least two labels; it has {len(self.words)}", field="verbalizer"
            )
        seen: dict[str, str] = {}
        for label, word in self.words.items():
            if not isinstance(label, str) or not isinstance(word, str):
                raise TypeError(f"label {label!r} has the label word {word!r}; give both as strings")
            if not word.strip():
                raise InvalidVerbalizer(
                    f"label {label!r} has an empty label word; give it a word", field=f"verbalizer.{label}"
                )
            _refuse_long_runs(label, word)
            key = canonical_form(word)
            if key in seen:
                raise InvalidVerbalizer(
                    f"labels {seen[key]!r} and {label!r} share the label word {word!r}; give each a word of its own, "
                    "or remove one of them",
                    field=f"verbalizer.{label}",
                )
            seen[key] = label

    @classmethod
    def of_labels(cls, labels: Iterable[str]) -> "Verbalizer":
        """Each label is its own label word (see `word_of_label`), in this order.

        Raises:
            InvalidVerbalizer: fewer than two labels, a label twice, a label that gives no word, or two labels that
                give the same word.
        """
        words: dict[str, str] = {}
        for label in labels:
            if label in words:
                raise InvalidVerbalizer(f"label {show_label(label)} is given twice; give it once", field="verbalizer")
            words[label] = word_of_label(label)
            if not words[label]:
                raise InvalidVerbalizer(
                    f"label {show_label(label)} cannot be its own label word, because it has only spaces and "
                    "underscores; give a label word for each label",
                    field="verbalizer",
                )
        return cls(words)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.words)


@dataclass(frozen=True, init=False)
class Task:
    """A classification task: template, verbalizer, and the separator that ends a demonstration."""

    template: Template
    verbalizer: Verbalizer
    separator: str = DEFAULT_SEPARATOR

    def __init__(
        self, template: Template | str, verbalizer: Verbalizer | Mapping[str, str], separator: str = DEFAULT_SEPARATOR
    ) -> None:
        """Take a pattern as a template, and a mapping of labels to label words as a verbalizer.

        Raises:
            InvalidTemplate, InvalidVerbalizer: see `Template` and `Verbalizer`.
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
        }
        for name, (part, kind) in parts.items():
            if not isinstance(part, kind):
                raise TypeError(f"the {name} of a task is of type {type(part).__name__}; give a {kind.__name__}")
            object.__setattr__(self, name, part)

    @classmethod
    def for_labels(
        cls, labels: Iterable[str], template: str = DEFAULT_TEMPLATE, separator: str = DEFAULT_SEPARATOR
    ) -> "Task":
        """The task in which each label is its own label word; `credit_card` is written `credit card`.

        Raises:
            InvalidTemplate: see `Template`.
            InvalidVerbalizer: see `Verbalizer.of_labels`.
        """
        return cls(Template(template), Verbalizer.of_labels(labels), separator)

    @classmethod
    def for_examples(
        cls, examples: Iterable[Any], template: str = DEFAULT_TEMPLATE, separator: str = DEFAULT_SEPARATOR
    ) -> "Task":
        """As `for_labels`, with the labels of these examples, sorted. They have any form that `Problem` takes.

        Raises:
            InvalidTemplate, InvalidVerbalizer: as `for_labels`.
            TypeError, InvalidDataset: as `Problem`.
        """
        return cls.for_labels(list_labels(list_examples(examples)), template, separator)

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

    def render_prefix(self, demonstrations: Sequence[Example]) -> tuple[str, ...]:
        return tuple(self.render_demonstration(example) for example in demonstrations)

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


def _refuse_long_runs(label: str, word: str) -> None:
    for kind, value in (("label", label), ("label word", word)):
        if has_long_run(value):
            raise InvalidVerbalizer(
                f"the {kind} {show_label(value)} has more than {MAX_MARKS} combining marks (accents) in a row; remove "
                "the marks that are not part of a word",
                field=f"verbalizer.{label}",
            )
