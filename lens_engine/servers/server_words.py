"""What a server says: in short, in printable characters and, as a log or a result may show it, without secrets."""

import re
from collections.abc import Iterator

_MOST_CHARACTERS = 300
_READ_CHARACTERS = 4 * _MOST_CHARACTERS
_PIECE = 5
"""Characters of a key that give it away. Some servers repeat the beginning and the end of a wrong key."""

_WORD = re.compile(r"[^\s\"'`,;:()\[\]{}<>]+")
_SECRET = re.compile(r"\b(sk|pk|rk|hf|gsk|xai|nvapi|key|token)[-_][\w*.-]{8,}|\*{2,}", re.IGNORECASE)
"""A key as vendors write it (sk-…, hf_…), and a word that the server has masked in part."""

_BEARER = re.compile(r"\b(bearer|basic)\s+\S+", re.IGNORECASE)


def clean_words(said: object, key: str | None = None) -> str:
    """The beginning of what a server says.

    Args:
        key: the key of the server; words with a part of it are masked.
    """
    text = _write(said)[:_READ_CHARACTERS]
    if key:
        text = text.replace(key, "[key]")
    text = _BEARER.sub(r"\1 [key]", text)
    pieces = set(_cut(key or ""))
    text = _WORD.sub(lambda word: "[key]" if _is_secret(word.group(), pieces) else word.group(), text)
    return _make_printable(text)


def read_name(said: object) -> str | None:
    """The beginning of a name or version that tells what a server runs; None if it says none.

    Nothing is masked: a name may look like a key, and two models must not get one name.
    """
    return None if said is None else _make_printable(_write(said))


def _write(said: object) -> str:
    is_plain = said is None or isinstance(said, str | int | float)
    return str(said if is_plain else type(said).__name__)


def _make_printable(text: str) -> str:
    return "".join(one if one.isprintable() else " " for one in text[:_MOST_CHARACTERS]).strip()


def _is_secret(word: str, pieces: set[str]) -> bool:
    return word != "[key]" and (_SECRET.search(word) is not None or any(piece in pieces for piece in _cut(word)))


def _cut(text: str) -> Iterator[str]:
    return (text[start : start + _PIECE] for start in range(len(text) - _PIECE + 1))
