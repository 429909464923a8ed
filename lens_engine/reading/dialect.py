"""How a text file is written: its encoding, and the delimiter of a CSV file. What was not given is found."""

import codecs
import csv
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from lens_engine.errors import InvalidDataset
from lens_engine.task.wording import show_label

UTF8 = "utf-8"
WINDOWS_1252 = "windows-1252"

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "pipes"}
"""The delimiters that are looked for, with their names."""

NUM_HEAD_CHARACTERS = 64 * 1024
"""Number of characters in which a delimiter is looked for."""

_NO_TEXT = frozenset({"idna", "mbcs", "oem", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"})
"""Encodings of Python that no file is written in."""

_MAX_RECORDS = 100
SEPARATOR = "sep="
"""Beginning of a first line that tells some spreadsheets the delimiter: `sep=;`."""
_ENCLOSED = re.compile(r'\A"(.*)"\Z', re.DOTALL)
_SEPARATOR_LINE = re.compile(f"{SEPARATOR}([,;|\t])\r?\n")


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
    has_quoting: bool = True  #: whether quotes enclose fields; if not, they are letters of the texts

    @property
    def quoting(self) -> Literal[0, 3]:
        """As the csv module names it."""
        return csv.QUOTE_MINIMAL if self.has_quoting else csv.QUOTE_NONE

    def read_header(self, names: list[str]) -> list[str]:
        """The names of the columns. A header may be quoted also where quotes are letters of the texts."""
        return names if self.has_quoting else [_ENCLOSED.sub(r"\1", name) for name in names]


def find_delimiter(head: str, usual: str = ",") -> str:
    """The delimiter of a CSV file that begins with `head`: most rows have as many fields as the header.

    Args:
        usual: the delimiter of a file with one column.
    """
    if found := _SEPARATOR_LINE.match(head):
        return found[1]
    lines = head.splitlines(keepends=True)
    whole = lines[:-1] if len(head) >= NUM_HEAD_CHARACTERS else lines  # the head may cut off the last
    best, best_fit = usual, (0.0, 1)
    for delimiter in DELIMITERS:
        widths = list(map(len, islice(read_records(whole, delimiter), _MAX_RECORDS)))
        header, rows = widths[0] if widths else 0, widths[1:]
        fit = (rows.count(header) / len(rows) if rows else 1.0, header)
        if header > 1 and fit > best_fit:
            best, best_fit = delimiter, fit
    return best


def read_records(lines: Iterable[str], delimiter: str, quoting: Literal[0, 3] = 0) -> Iterator[list[str]]:
    """The records of a CSV file that are not blank, up to the first that breaks the table."""
    records = csv.reader(lines, delimiter=delimiter, quoting=quoting)
    with suppress(csv.Error):
        yield from (record for record in records if any(map(str.strip, record)))


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
