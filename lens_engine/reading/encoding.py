"""Finds the encoding of a text file.

The encoding is UTF-8, or that of the byte order mark, or else one of four in which spreadsheets write Latin letters;
the language of the text decides which. A file of other letters is refused, because a wrong guess gives wrong letters
without a word; the refusal names the encodings in which the text is of a fitting language. (A general detector took
Spanish, Italian and English in Windows-1252 for Windows-1250.)
"""

import codecs
import io
import re
from collections.abc import Iterable, Iterator
from functools import partial

from lens_engine.errors import InvalidDataset
from lens_engine.reading.dialect import UNDECODED, UTF8, WINDOWS_1252, Dialect, FoundDialect, show_encoding
from lens_engine.reading.errors import UnsupportedDatasetFormat
from lens_engine.task.language import count_languages

_FOREIGN, _WORD = re.compile(r"[^\x00-\x7f]"), re.compile(r"[^\W\d_]{3,}")
_HIGH, _LONG_RUN = re.compile(rb"[\x80-\xff]"), re.compile(rb"[\x80-\xff]{3,}")

_MARKS = {
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),  # first: it begins with the mark of UTF-16
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
_CHUNK_BYTES = 2**20
_CONTROLS = bytes({*range(32), 127} - {*b"\t\n\x0b\f\r\x1a\x1b"})
"""Bytes that no text has. ISO 2022 has Escape, and old editors end a file by Control-Z."""

_MAX_FOREIGN_SHARE = 0.6
"""Largest share of letters outside ASCII in the words of Latin letters that have any. Cyrillic words have no other."""
_MAX_RUN_SHARE = 0.4
"""Largest share of the bytes outside ASCII that stand three or more in a row. Latin letters rarely do."""

_LATIN = {
    WINDOWS_1252: "ca da de en es eu fi fr ga gl is it nb nl nn no pt sv",
    "cp1250": "bs cs hr hu pl ro sk sl",
    "cp1254": "az tr",
    "cp1257": "et lt lv",
}
"""The encodings of spreadsheets in Europe, with the languages that are written in them."""
_KANA = "".join(map(chr, range(0x3041, 0x30FF)))
_RUSSIAN = "оеаинтсрвл"
_OTHERS: dict[str, tuple[str, str | tuple[str, range], float]] = {
    "windows-1251": ("Russian or another Slavic language", _RUSSIAN, 0.6),
    "koi8-r": ("Russian", _RUSSIAN, 0.6),
    "cp866": ("Russian", _RUSSIAN, 0.6),
    "windows-1253": ("Greek", "αοιετσνηυρπκλμςίάόέή", 0.8),
    "windows-1255": ("Hebrew", "יוהלאמרתבש", 0.6),
    "windows-1256": ("Arabic", "اليمونتره", 0.55),
    "cp874": ("Thai", "านรอกเงมยลวดทส่้", 0.65),
    "shift_jis": ("Japanese", _KANA, 0.45),
    "euc_jp": ("Japanese", _KANA, 0.45),
    "cp949": ("Korean", ("euc_kr", range(0xB0, 0xC9)), 1.0),
    "gb18030": ("Chinese", ("gb2312", range(0xB0, 0xD8)), 1.0),
    "big5": ("Chinese", ("big5", range(0xA4, 0xC7)), 1.0),
}
"""Encodings that a refusal names: the language, its most frequent letters, and their usual share of all letters. The
letters of two bytes are told by an older part of the encoding, and by first bytes.
"""
_NUM_TELLING_LINES = 200
_FITS = 0.6
"""Smallest share of frequent letters, of what is usual, for an encoding to be named."""


def find_encoding(file: io.BufferedReader, given: Dialect, usual: str | None, field: str) -> FoundDialect:
    """The encoding of a file.

    Args:
        usual: encoding of earlier files, taken for a file that is not UTF-8; None to find it.

    Raises:
        InvalidDataset: the encoding cannot be found.
        UnsupportedDatasetFormat: the file is not text.
    """
    if given.encoding is not None:
        return FoundDialect(given.encoding)
    file.seek(0)
    head = file.read(4)
    for encoding, marks in _MARKS.items():
        if head.startswith(marks):
            return FoundDialect(encoding, notes=(f"the file is read as {encoding.upper()}, as its first bytes say",))
    if _is_of(file, UTF8) or _is_mostly_good(_decode(file, UTF8, "surrogateescape")):
        return FoundDialect(UTF8)
    file.seek(0)
    head = file.read(_CHUNK_BYTES)
    if 100 * (len(head) - len(head.translate(None, _CONTROLS))) > len(head):
        raise UnsupportedDatasetFormat(
            "the file is not text: it holds control characters, as pictures and programs do; save the table as CSV or "
            "JSONL, or name the encoding of a text (encoding), e.g. utf-16",
            field=field,
        )
    lines = [line for line in head.splitlines() if not line.isascii()]
    if usual is not None and not usual.startswith("utf") and _can_be(file, usual):
        legacy: str | None = usual
    else:
        legacy = _find_latin(file, lines)
    if legacy is None:
        raise InvalidDataset(
            f"the file is neither UTF-8 nor in the Latin letters of Windows-1252; {_name_others(file, lines)}",
            field=field,
        )
    note = f"the file is not UTF-8 and is read as {show_encoding(legacy)}; name another (encoding) if letters are wrong"
    return FoundDialect(legacy, notes=(note,))


def _find_latin(file: io.BufferedReader, lines: list[bytes]) -> str | None:
    """The encoding of Latin letters in which most telling lines are of a language that is written in it."""
    best, best_number = None, -1
    for encoding, languages in _LATIN.items():
        if _can_be(file, encoding):
            counts = count_languages([line.decode(encoding, "ignore") for line in lines[:_NUM_TELLING_LINES]])
            number = sum(counts[language] for language in languages.split())
            if number > best_number:
                best, best_number = encoding, number
    return best


def _name_others(file: io.BufferedReader, lines: list[bytes]) -> str:
    """What the user can do: name one of the encodings in which the text has the letters of a language."""
    found = list[tuple[float, str, str]]()
    for encoding, (language, common, usual) in _OTHERS.items():
        if _can_be(file, encoding):
            text = _FOREIGN.findall(b"\n".join(lines[:_NUM_TELLING_LINES]).decode(encoding, "ignore"))
            letters = list(filter(str.isalpha, text))
            share = sum(_is_common(one, common) for one in letters) / max(len(letters), 1)
            fit = min(share / usual, 1.0) * len(letters) / max(len(text), 1)
            if fit >= _FITS:
                found.append((fit, encoding, language))
    if not found:
        return "name its encoding (encoding), e.g. windows-1251, or save it as UTF-8"
    (_, first, language), *others = sorted(found, key=lambda one: -one[0])
    also = f", or perhaps {' or '.join(one for _, one, _ in others[:2])}" if others else ""
    return f"it reads as {language} in {first}: name that (encoding: {first}){also}"


def _is_common(letter: str, common: str | tuple[str, range]) -> bool:
    if isinstance(common, str):
        return letter in common
    encoding, firsts = common
    return (letter.encode(encoding, "ignore") or b"\0")[0] in firsts


def _is_of(file: io.BufferedReader, encoding: str) -> bool:
    """Whether every byte is of the encoding."""
    try:
        for _ in _decode(file, encoding):
            pass
    except UnicodeDecodeError:
        return False
    return True


def _is_mostly_good(texts: Iterable[str]) -> bool:
    """Whether more of the characters outside ASCII are good than bad."""
    balance = 0
    for text in texts:
        broken = len(UNDECODED.findall(text))
        balance += len(_FOREIGN.findall(text)) - 2 * broken
    return balance > 0


def _can_be(file: io.BufferedReader, encoding: str) -> bool:
    """Whether every byte is of the encoding; of Latin letters, nearly every, and whether the letters are Latin."""
    if encoding in _LATIN:
        return _has_latin_letters(file, encoding) and _is_mostly_good(_decode(file, encoding, "surrogateescape"))
    return _is_of(file, encoding)


def _has_latin_letters(file: io.BufferedReader, encoding: str) -> bool:
    """Whether the letters outside ASCII stand among those of ASCII, as in Latin script."""
    letters = foreign = high = in_runs = 0
    file.seek(0)
    for chunk in iter(partial(file.read, _CHUNK_BYTES), b""):
        high += len(_HIGH.findall(chunk))
        in_runs += sum(map(len, _LONG_RUN.findall(chunk)))
    for text in _decode(file, encoding, "surrogateescape"):
        words = [word for word in _WORD.findall(text) if not word.isascii()]
        letters += sum(map(len, words))
        foreign += sum(len(_FOREIGN.findall(word)) for word in words)
    return foreign <= _MAX_FOREIGN_SHARE * letters and in_runs <= _MAX_RUN_SHARE * high


def _decode(file: io.BufferedReader, encoding: str, errors: str = "strict") -> Iterator[str]:
    """The text of a file in pieces."""
    file.seek(0)
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    for chunk in iter(partial(file.read, _CHUNK_BYTES), b""):
        yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)
