"""How a text file is written: its encoding, and the delimiter of a CSV file; and where in it a fault is."""

import codecs
import re
from dataclasses import dataclass

from lens_engine.errors import InvalidDataset
from lens_engine.task.wording import show_label

UTF8 = "utf-8"
WINDOWS_1252 = "windows-1252"

UNDECODED = re.compile("[\udc80-\udcff]")
"""A byte that is not of the encoding, as the error handler "surrogateescape" decodes it."""
_AROUND = 15
"""Number of characters shown before and after a place."""
_NO_TEXT = frozenset({"idna", "mbcs", "oem", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"})
"""Encodings of Python that no file is written in."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a text file is written; None for what is to be found.

    Raises:
        InvalidDataset: Python knows no such encoding, or the delimiter is not one character that can separate.
    """

    encoding: str | None = None
    delimiter: str | None = None  #: of a CSV file; also written as `\\t` or `tab`

    def __post_init__(self) -> None:
        if self.encoding is not None:
            object.__setattr__(self, "encoding", _check_encoding(self.encoding))
        if self.delimiter is not None:
            object.__setattr__(self, "delimiter", _check_delimiter(self.delimiter))


ANY_DIALECT = Dialect()


@dataclass(frozen=True, slots=True)
class FoundDialect:
    """How a file is read, and what should be said of it."""

    encoding: str
    delimiter: str | None = None  #: None for a file without delimiters
    notes: tuple[str, ...] = ()


def show_encoding(encoding: str) -> str:
    """The name of an encoding for people."""
    return encoding.upper().replace("WINDOWS", "Windows").replace("CP125", "Windows-125")


def _check_encoding(name: str) -> str:
    try:
        known = codecs.lookup(name)
    except (LookupError, ValueError):
        known = None
    if known is None or not known._is_text_encoding or known.name in _NO_TEXT:
        raise InvalidDataset(
            f"{show_label(name)} is not an encoding; name one such as utf-8, windows-1252 or shift_jis",
            field="encoding",
        )
    return {"utf-8-sig": UTF8, "cp1252": WINDOWS_1252}.get(known.name, known.name)


def _check_delimiter(given: str) -> str:
    delimiter = {"\\t": "\t", "tab": "\t"}.get(given, given)
    if len(delimiter) != 1 or delimiter.isalnum() or delimiter in '"\r\n\0':
        raise InvalidDataset(
            f"{show_label(given)} is not a delimiter; name one character such as , or ; or | or the word tab",
            field="delimiter",
        )
    return delimiter


def tell_place(text: str, position: int, line: int) -> str:
    """The line and column (from 1) of a position in a text that begins on `line`."""
    before = text[:position].replace("\r\n", "\n").replace("\r", "\n")
    return f"line {line + before.count(chr(10)):,}, column {len(before) - before.rfind(chr(10)):,}"


def quote_around(text: str, position: int) -> str:
    """The characters around a position, quoted; a byte that could not be decoded is shown as \ufffd."""
    start, end = max(position - _AROUND, 0), position + _AROUND
    words = UNDECODED.sub("\ufffd", text[start:end].rstrip("\r\n"))
    return repr(f"{'…' if start else ''}{words}{'…' if end < len(text) else ''}")
