"""Special tokens of a chat template inside of rendered text: between marks, and only there, they are special.

The marks are noncharacters of Unicode, which no text holds on purpose. A template takes them out of the texts that it
renders, so that no input can open a turn of its own.
"""

OPEN, CLOSE = "\ufdd0", "\ufdd1"

_MARKS = str.maketrans({OPEN: "\ufffd", CLOSE: "\ufffd"})


def mark(token: str) -> str:
    """A special token, as a rendered text holds it."""
    return f"{OPEN}{token}{CLOSE}"


def drop_marks(text: str) -> str:
    """A text of somebody else: its marks become the replacement character."""
    return text.translate(_MARKS) if OPEN in text or CLOSE in text else text
