"""What a task takes by default: a template that fits any kind of text, and each label as its own label word."""

DEFAULT_TEMPLATE = "{text} Topic: {label}."
"""The template of a task that names none; docs/decisions/0014 has the measurement."""

DEFAULT_SEPARATOR = "\n"

OTHER_TEMPLATES = ("Text: {text}\nLabel: {label}\n", "{text} Label: {label}.")
"""Further templates to try."""


def word_of_label(label: str) -> str:
    """The label word of a label that is its own word.

    Underscores become spaces, repeated spaces become one, and spaces at the ends go: `credit_card` is `credit card`.
    Case, hyphens and other characters stay. The word is empty if nothing is left.
    """
    return " ".join(label.replace("_", " ").split())
