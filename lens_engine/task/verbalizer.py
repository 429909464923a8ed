"""The verbalizer: a label word for each label."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from lens_engine.errors import InvalidVerbalizer
from lens_engine.task.defaults import word_of_label
from lens_engine.task.unicode_form import MAX_MARKS, canonical_form, has_long_run
from lens_engine.task.wording import show_label


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

    def without(self, labels: Collection[str]) -> "Verbalizer":
        """The words of the other labels."""
        return Verbalizer({label: word for label, word in self.words.items() if label not in labels})

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.words)


def _refuse_long_runs(label: str, word: str) -> None:
    for kind, value in (("label", label), ("label word", word)):
        if has_long_run(value):
            raise InvalidVerbalizer(
                f"the {kind} {show_label(value)} has more than {MAX_MARKS} combining marks (accents) in a row; remove "
                "the marks that are not part of a word",
                field=f"verbalizer.{label}",
            )
