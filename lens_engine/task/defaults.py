"""What a task takes by default: a template that fits any kind of text, and each label as its own label word."""

import re

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


def write_template(label_column: str | tuple[str, ...] | None) -> str:
    """The template of a task that names none: `{text} Sentiment: {label}.` for a column of labels named `sentiment`.

    A name that says nothing of the labels, such as `label` or `col3`, gives the default.
    """
    name = label_column.rpartition(".")[2].strip() if isinstance(label_column, str) else ""
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
