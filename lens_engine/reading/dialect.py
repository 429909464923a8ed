"""How a text file is written: its encoding, and the delimiter of a CSV file. What was not given is found.

The encoding is UTF-8, or that of the byte order mark, or else one of three in which spreadsheets write Latin letters;
the language of the text decides which. A file of other letters is refused, because a wrong guess gives wrong letters
without a word. (A general detector took Spanish, Italian and English in Windows-1252 for Windows-1250.)
"""

import codecs
import csv
import io
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice

from lens_engine.errors import InvalidDataset
from lens_engine.reading.language import count_languages
from lens_engine.task.wording import show_label

UTF8 = "utf-8"
WINDOWS_1252 = "windows-1252"

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "pipes"}
"""The delimiters that are looked for, with their names."""

UNDECODED = re.compile("[\udc80-\udcff]")
"""A byte that is not of the encoding, as the error handler "surrogateescape" decodes it."""

_FOREIGN, _LETTER = re.compile(r"[^\x00-\x7f]"), re.compile(r"[^\W\d_]")

NUM_HEAD_CHARACTERS = 64 * 1024
"""Number of characters in which a delimiter is looked for."""

# UTF-32 first: its byte order mark begins with that of UTF-16.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_NO_TEXT = frozenset({"idna", "mbcs", "oem", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"})
"""Encodings of Python that no file is written in."""

_CHUNK_BYTES = 2**20
_MAX_FOREIGN_SHARE = 0.3
"""Largest share of letters outside ASCII in a text of Latin letters. Cyrillic read as Windows-1252 has more."""

_LATIN = {
    WINDOWS_1252: {
        "ca",
        "da",
        "de",
        "en",
        "es",
        "eu",
        "fi",
        "fr",
        "ga",
        "gl",
        "is",
        "it",
        "nb",
        "nl",
        "nn",
        "no",
        "pt",
        "sv",
    },
    "cp1250": {"bs", "cs", "hr", "hu", "pl", "ro", "sk", "sl"},
    "cp1254": {"az", "tr"},
}
"""The encodings of spreadsheets in Europe, with the languages that are written in them."""
_NUM_TELLING_LINES = 200

_MAX_RECORDS = 100
SEPARATOR = "sep="
"""Beginning of a first line that tells some spreadsheets the delimiter: `sep=;`."""
_SEPARATOR_LINE = re.compile(f"{SEPARATOR}(.)\r?\n")


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

    @property
    def known(self) -> Dialect:
        """The dialect, for later files."""
        return Dialect(self.encoding, self.delimiter)


def find_encoding(file: io.BufferedReader, given: Dialect, usual: str | None, field: str) -> FoundDialect:
    """The encoding of a file that is at its beginning; the file is read, and set back to its beginning.

    Args:
        usual: encoding of earlier files, taken for a file that is not UTF-8; None to find it.

    Raises:
        InvalidDataset: the encoding cannot be found.
    """
    if given.encoding is not None:
        return FoundDialect(given.encoding)
    try:
        return _find_encoding(file, usual, field)
    finally:
        file.seek(0)


def _find_encoding(file: io.BufferedReader, legacy: str | None, field: str) -> FoundDialect:
    head = file.read(4)
    for mark, encoding in _MARKS.items():
        if head.startswith(mark):
            return FoundDialect(encoding, notes=(f"the file is read as {encoding.upper()}, as its first bytes say",))
    if _is_utf8(file):
        return FoundDialect(UTF8)
    if legacy is None or legacy.startswith("utf") or not _can_be(file, legacy):
        legacy = _find_latin(file)
    if legacy is None:
        raise InvalidDataset(
            "the file is neither UTF-8 nor in the Latin letters of Windows-1252; name its encoding (encoding), e.g. "
            "windows-1251, or save it as UTF-8",
            field=field,
        )
    note = f"the file is not UTF-8 and is read as {show_encoding(legacy)}; name another (encoding) if letters are wrong"
    return FoundDialect(legacy, notes=(note,))


def _find_latin(file: io.BufferedReader) -> str | None:
    """The encoding of Latin letters in which most telling lines are of a language that is written in it."""
    file.seek(0)
    lines = [line for line in file.read(_CHUNK_BYTES).splitlines() if not line.isascii()]
    best, best_number = None, -1
    for encoding, languages in _LATIN.items():
        if not _can_be(file, encoding):
            continue
        counts = count_languages([line.decode(encoding) for line in lines[:_NUM_TELLING_LINES]])
        number = sum(counts[language] for language in languages)
        if number > best_number:
            best, best_number = encoding, number
    return best


def find_delimiter(head: str, usual: str = ",") -> str:
    """The delimiter of a CSV file that begins with `head`: most rows have as many fields as the header.

    Args:
        usual: the delimiter of a file with one column.
    """
    if found := _SEPARATOR_LINE.match(head):
        return found[1]
    best, best_fit = usual, (0.0, 1)
    for delimiter in DELIMITERS:
        widths = list(_widths(head, delimiter))
        header, rows = widths[0] if widths else 0, widths[1:]
        fit = (rows.count(header) / len(rows) if rows else 1.0, header)
        if header > 1 and fit > best_fit:
            best, best_fit = delimiter, fit
    return best


def open_text(file: io.BufferedReader, encoding: str, newline: str) -> io.TextIOWrapper:
    """The file as text. A byte that is not of the encoding becomes a surrogate (`UNDECODED`)."""
    codec = "utf-8-sig" if encoding == UTF8 else encoding
    return io.TextIOWrapper(file, encoding=codec, errors="surrogateescape", newline=newline)


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


def _is_utf8(file: io.BufferedReader) -> bool:
    """Whether the file is UTF-8 but for a few bytes: of its characters outside ASCII, more are good than bad."""
    try:
        deque(_decode(file, UTF8), maxlen=0)
        return True
    except UnicodeDecodeError:
        good = bad = 0
        for text in _decode(file, UTF8, "surrogateescape"):
            broken = len(UNDECODED.findall(text))
            bad += broken
            good += len(_FOREIGN.findall(text)) - broken
        return good > bad


def _can_be(file: io.BufferedReader, encoding: str) -> bool:
    """Whether every byte is of the encoding; for one of Latin letters, whether most letters are of ASCII too."""
    letters = foreign = 0
    try:
        for text in _decode(file, encoding):
            letters += len(_LETTER.findall(text))
            foreign += len(_FOREIGN.findall(text))
    except UnicodeDecodeError:
        return False
    return encoding not in _LATIN or foreign <= _MAX_FOREIGN_SHARE * letters


def _decode(file: io.BufferedReader, encoding: str, errors: str = "strict") -> Iterator[str]:
    """The text of a file in pieces."""
    file.seek(0)
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    for chunk in iter(partial(file.read, _CHUNK_BYTES), b""):
        yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


def _widths(head: str, delimiter: str) -> Iterator[int]:
    """The number of fields of the first records that are not blank. A record that the head cuts off is left out."""
    lines = head.splitlines(keepends=True)
    whole = lines[:-1] if len(head) >= NUM_HEAD_CHARACTERS else lines
    records = (
        record for record in _until_broken(csv.reader(whole, delimiter=delimiter)) if any(map(str.strip, record))
    )
    yield from map(len, islice(records, _MAX_RECORDS))


def _until_broken(records: Iterator[list[str]]) -> Iterator[list[str]]:
    try:
        yield from records
    except csv.Error:
        return
