"""Words of messages: labels, and numbers of things."""

_MAX_SHOWN_CHARACTERS = 40
_VERBS = {"has": "have", "is": "are", "was": "were"}


def show_label(label: str) -> str:
    """A label or the name of a column for a message: quoted, without control characters; a long one is cut."""
    return repr(label if len(label) <= _MAX_SHOWN_CHARACTERS else f"{label[:_MAX_SHOWN_CHARACTERS]}…")


def show_count(number: int, noun: str, verb: str | None = None) -> str:
    """A number with its noun and verb: "1 row has", "12 rows have".

    Args:
        verb: in the singular: "has", "is" or "was".
    """
    words = [f"{number:,}", noun if number == 1 else f"{noun}s"]
    if verb is not None:
        words.append(verb if number == 1 else _VERBS[verb])
    return " ".join(words)
