"""The verbalizer: a label word for each label."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from lens_engine.errors import InvalidVerbalizer
from lens_engine.prompt.text_checks import MAX_MARKS, canonical_form, has_long_run
from lens_engine.prompt.wording import show_label

DEFAULT_TEMPLATE = "{text} Topic: {label}."
"""The template of a task that names none; docs/decisions/0014 has the measurement."""

DEFAULT_SEPARATOR = "\n"

_WORDS = re.compile(r"(?!(?:has|is|was)[ _-])[^\W\d_]{2,}(?:[ _-][^\W\d_]{2,}){0,2}", re.IGNORECASE)
"""A name of one word to three, without digits; `is_spam` asks for yes and no."""
_MOST_CHARACTERS = 30
_DROPPED = frozenset({"label", "labels", "id", "ids", "name", "names"})
"""Words that a name may have beside those that say what the labels are: `intent_label`."""
_OF_ANY_LABELS = re.compile(
    r"annotations?|answers?|cat|categor(?:y|ies|ia)|class(?:es)?|cls|cluster|code|completion|gold|group|index|key|kinds?|lbl|"
    r"number|outcome|outputs?|overall|predictions?|responses?|results?|sorts?|tags?|targets?|tgt|true|truth|types?|val|value|"
    r"catégorie|classe|étiquette|etikett|kategorie|klasse|typ|categoría|clase|etiqueta|tipo|etichetta|rótulo",
    re.IGNORECASE,
)
"""Words that say no more than "label"."""

OTHER_TEMPLATES = ("Text: {text}\nLabel: {label}\n", "{text} Label: {label}.")
"""Further templates to try."""


def write_template(label_column: str | None) -> str:
    """The template of a task that names none: `{text} Sentiment: {label}.` for a column of labels named `sentiment`.

    A name that says nothing of the labels, such as `label` or `col3`, gives the default.
    """
    name = (label_column or "").rpartition(".")[2].strip()
    name = re.sub("(?<=[a-z])[A-Z]", lambda found: f" {found[0].lower()}", name)
    words = re.split("[ _-]", name) if _WORDS.fullmatch(name) and len(name) <= _MOST_CHARACTERS else []
    words = [word for word in words if word.casefold() not in _DROPPED]
    said = " ".join(words)
    if all(map(_OF_ANY_LABELS.fullmatch, words)) or (len(said) < 3 and said.isascii()):
        return DEFAULT_TEMPLATE
    said = said.capitalize() if said.isupper() else said[0].upper() + said[1:]
    return DEFAULT_TEMPLATE.replace("Topic", said)


def word_of_label(label: str) -> str:
    """The label word of a label that is its own word.

    Underscores become spaces, repeated spaces become one, and spaces at the ends go: `credit_card` is `credit card`.
    Case, hyphens and other characters stay. The word is empty if nothing is left.
    """
    return " ".join(label.replace("_", " ").split())


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
                f"a verbalizer needs at least two labels; it has {len(self.words)}; give each label of the rows a word",
                field="verbalizer",
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


_SILENT = re.compile(
    r"(?:(?:label|class|category|cat|cluster|group|topic|tag|klasse|kategorie|classe|categorie|clase|categoria|etiqueta|"
    r"etichetta|id|[a-z])[ _.:#-]*)?[+-]?\d+(?:[.,]\d+)?|[a-z]",
    re.IGNORECASE,
)
_MOST_NAMED = 10


def find_silent(verbalizer: Verbalizer) -> list[str]:
    """The labels whose words say nothing of what they stand for: `0`, `A`, `B2`, `LABEL_3`."""
    return [label for label, word in verbalizer.words.items() if _SILENT.fullmatch(word.strip())]


def warn_of_silent(verbalizer: Verbalizer) -> list[str]:
    """A sentence if words say nothing; it ends with what to do."""
    silent = find_silent(verbalizer)
    if not silent:
        return []
    named = ", ".join(show_label(verbalizer.words[label]) for label in silent[:_MOST_NAMED])
    more = f" and {len(silent) - _MOST_NAMED} more" * (len(silent) > _MOST_NAMED)
    return [
        f"the label words {named}{more} say nothing of what they stand for, so that the model knows of these labels "
        "only what the examples show; give each label a word"
    ]
