"""Finds the encoding of a text file, and opens it.

The encoding is UTF-8, or that of the byte order mark, or else one of three in which spreadsheets write Latin letters;
the language of the text decides which. A file of other letters is refused, because a wrong guess gives wrong letters
without a word. (A general detector took Spanish, Italian and English in Windows-1252 for Windows-1250.)
"""

import codecs
import io
import re
from collections import deque
from collections.abc import Iterator
from functools import partial

from lens_engine.errors import InvalidDataset
from lens_engine.reading.content_format import is_binary
from lens_engine.reading.dialect import UTF8, WINDOWS_1252, Dialect, FoundDialect, show_encoding
from lens_engine.reading.errors import UnsupportedDatasetFormat
from lens_engine.reading.language import count_languages

UNDECODED = re.compile("[\udc80-\udcff]")
"""A byte that is not of the encoding, as the error handler "surrogateescape" decodes it."""

_FOREIGN, _WORD = re.compile(r"[^\x00-\x7f]"), re.compile(r"[^\W\d_]+")

# UTF-32 first: its byte order mark begins with that of UTF-16.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_CHUNK_BYTES = 2**20
_MAX_FOREIGN_SHARE = 0.6
"""Largest share of letters outside ASCII in the words of Latin letters that have any. Cyrillic words have no other."""

_WESTERN = {"ca", "da", "de", "en", "es", "eu", "fi", "fr", "ga", "gl", "is", "it", "nb", "nl", "nn", "no", "pt", "sv"}
_CENTRAL = {"bs", "cs", "hr", "hu", "pl", "ro", "sk", "sl"}
_LATIN = {WINDOWS_1252: _WESTERN, "cp1250": _CENTRAL, "cp1254": {"az", "tr"}}
"""The encodings of spreadsheets in Europe, with the languages that are written in them."""
_NUM_TELLING_LINES = 200


def find_encoding(file: io.BufferedReader, given: Dialect, usual: str | None, field: str) -> FoundDialect:
    """The encoding of a file that is at its beginning; the file is read, and set back to its beginning.

    Args:
        usual: encoding of earlier files, taken for a file that is not UTF-8; None to find it.

    Raises:
        InvalidDataset: the encoding cannot be found.
        UnsupportedDatasetFormat: the file is not text.
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
    file.seek(0)
    if is_binary(file.read(_CHUNK_BYTES)):
        raise UnsupportedDatasetFormat(
            "the file is not text: it holds control characters, as pictures and programs do; save the table as CSV or "
            "JSONL, or name the encoding of a text (encoding), e.g. utf-16",
            field=field,
        )
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


def open_text(file: io.BufferedReader, encoding: str, newline: str) -> io.TextIOWrapper:
    """The file as text. A byte that is not of the encoding becomes a surrogate (`UNDECODED`)."""
    codec = "utf-8-sig" if encoding == UTF8 else encoding
    return io.TextIOWrapper(file, encoding=codec, errors="surrogateescape", newline=newline)


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
            words = [word for word in _WORD.findall(text) if not word.isascii()]
            letters += sum(map(len, words))
            foreign += sum(len(_FOREIGN.findall(word)) for word in words)
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
