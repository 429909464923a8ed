"""Words of messages: labels, and numbers of things."""

_MAX_SHOWN_CHARACTERS = 40
_VERBS = {"has": "have", "is": "are", "was": "were"}


def show_label(label: str) -> str:
    """A label or the name of a column for a message: quoted, without control characters; a long one is cut."""
    return repr(label if len(label) <= _MAX_SHOWN_CHARACTERS else f"{label[:_MAX_SHOWN_CHARACTERS]}…")


def end_sentence(text: str) -> str:
    """A note with the capital and the full stop of a sentence."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def show_percent(share: float) -> str:
    """A share as a whole number of per cent, without the sign."""
    return f"{int(100 * share + 0.5 + 1e-9)}"


def show_share(share: float, n: int) -> str:
    """A share of `n` rows as per cent: below a thousand rows a whole number, whose error exceeds a decimal."""
    return f"{show_percent(share)} %" if n < 1000 else f"{100 * share:.1f} %"


def show_right(share: float, n: int) -> str:
    """How many of `n` are right: "105 of 120 (88 %)"."""
    return f"{round(share * n):,} of {n:,} ({show_share(share, n)})"


def show_count(number: int, noun: str, verb: str | None = None) -> str:
    """A number with its noun and its verb, which is given in the singular: "1 row has", "12 rows have"."""
    words = [f"{number:,}", noun if number == 1 else f"{noun}s"]
    if verb is not None:
        words.append(verb if number == 1 else _VERBS[verb])
    return " ".join(words)


def shorten(text: str, most: int) -> str:
    """A text on one line, cut to `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def describe_seconds(seconds: float) -> str:
    """Format a duration as `12 s`, `5 min 12 s`, `19 min` or `3 h 11 min`."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 10:
        return f"{minutes} min {rest} s" if minutes else f"{rest} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def describe_usd(usd: float) -> str:
    """Format an amount of money with cents, or with more decimals where it is small."""
    decimals = 2 if usd >= 1 or usd == 0 else 4 if usd >= 0.01 else 6
    return f"{usd:,.{decimals}f} USD"
