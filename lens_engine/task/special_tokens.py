"""Special tokens of a chat template inside of rendered text: between marks, and only there, they are special.

The marks are noncharacters of Unicode, which no text holds on purpose. A template takes them out of the texts that it
renders, so that no input can open a turn of its own.
"""

OPEN, CLOSE = "\ufdd0", "\ufdd1"

BEGIN = OPEN + CLOSE
"""What a chat begins with: its text names all its special tokens, so none is put before it."""

BREAK = "\ufdd2"
"""Tells a special token that somebody wrote in a text from one of the chat template, while it renders."""

_MARKS = str.maketrans(dict.fromkeys((OPEN, CLOSE, BREAK), "\ufffd"))


def mark(token: str) -> str:
    """A special token, as a rendered text holds it."""
    return f"{OPEN}{token}{CLOSE}"


def drop_marks(text: str) -> str:
    """A text of somebody else: its marks become the replacement character."""
    return text if text.isascii() else text.translate(_MARKS)
