"""Markdown. Every text is escaped, because texts of users may hold markup."""

import re

_BACKTICKS = re.compile("`+")

_MARKUP = re.compile(
    r"""(?=[\\|`*~[])
    |(?<![^\W_])(?=_)  # after a letter, none begins emphasis
    |^(?=[-+](?:[-\s]|$)|\#{1,6}(?:\s|$))  # a list or a line across, a heading
    |^\d{1,9}(?=[.)](?:\s|$))  # a numbered list
    |(?<=\s)(?=\#+$)  # the end of a heading
    |:(?=//)|www(?=\.)  # an address, of which GitHub makes a link""",
    re.VERBOSE,
)
"""What a backslash stands behind, so that Markdown reads no markup."""

_HTML = str.maketrans({"<": "&lt;", ">": "&gt;", '"': "&quot;"})
_ENTITY = re.compile(r"&(?=#?\w+;)")


def write_cell(text: str) -> str:
    """A text on one line, without markup; no HTML either where a reader of Markdown lets it pass."""
    escaped = _MARKUP.sub(r"\g<0>\\", " ".join(text.split()))
    return _ENTITY.sub("&amp;", escaped).translate(_HTML)


def write_fence(text: str) -> str:
    """A block of code that holds the text as it is."""
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
    return f"{fence}text\n{text}\n{fence}"
