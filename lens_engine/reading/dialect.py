"""How a text file is written: its encoding, and the delimiter of a CSV file; and where in it a fault is.

The encoding is UTF-8, that of the byte order mark, UTF-16 of an alphabet, or else one of four in which spreadsheets
write Latin letters; the language of the text decides which. A file of other letters is refused, because a wrong guess
gives wrong letters without a word; the refusal names the encodings in which the text is of a fitting language. (A
general detector took Spanish, Italian and English in Windows-1252 for Windows-1250.)
"""

import codecs
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from lens_engine.errors import InvalidDataset
from lens_engine.reading.limits import UnsupportedDatasetFormat
from lens_engine.task.language import count_languages
from lens_engine.task.wording import show_label

UTF8, WINDOWS_1252 = "utf-8", "windows-1252"
UNDECODED = re.compile("[\udc80-\udcff]")  #: a byte that is not of the encoding, as "surrogateescape" decodes it
_FOREIGN, _WORD = re.compile(r"[^\x00-\x7f]"), re.compile(r"[^\W\d_]{3,}")
_HIGH, _LONG_RUN = re.compile(rb"[\x80-\xff]"), re.compile(rb"[\x80-\xff]{3,}")
_TO_JAPANESE = re.compile(rb"\x1b(?:\$[@B]|\(J)")  #: how ISO-2022-JP, all of whose bytes are ASCII, begins such letters
_AROUND = 15  #: number of characters shown before and after a place
_CHUNK_BYTES = 2**20
_CONTROLS = bytes({*range(32), 127} - {*b"\t\n\x0b\f\r\x1a\x1b"})
"""Bytes that no text has. ISO 2022 has Escape, and old editors end a file by Control-Z."""
_MAX_FOREIGN_SHARE = 0.6  #: of letters outside ASCII in Latin words that have any; Cyrillic words have no other
_MAX_RUN_SHARE = 0.4  #: of the bytes outside ASCII that stand three or more in a row; Latin letters rarely do
_NUM_TELLING_LINES = 200
_FITS = 0.6  #: smallest share of frequent letters, of what is usual, for an encoding to be named

_NO_TEXT = frozenset({"idna", "mbcs", "oem", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"})
"""Encodings of Python that no file is written in."""
_MARKS = {
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),  # first: it begins with the mark of UTF-16
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
_LATIN = {  # encodings of spreadsheets in Europe, with the languages that are written in them
    WINDOWS_1252: "ca da de en es eu fi fr ga gl is it nb nl nn no pt sv",
    "cp1250": "bs cs hr hu pl ro sk sl",
    "cp1254": "az tr",
    "cp1257": "et lt lv",
}
_KANA, _RUSSIAN = "".join(map(chr, range(0x3041, 0x30FF))), "оеаинтсрвл"
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
"""Encodings that a refusal names: the language, its most frequent letters, and their usual share of letters. Letters of
two bytes are told by an older part of the encoding, and by first bytes."""


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
    has_mark: bool = True  #: whether a CSV file made from it begins with a byte order mark, for spreadsheets


def _check_encoding(name: str) -> str:
    known = None
    with suppress(LookupError, ValueError):
        known = codecs.lookup(name)
    if known is None or not known._is_text_encoding or known.name in _NO_TEXT:
        told = f"{show_label(name)} is not an encoding; name one such as utf-8, windows-1252 or shift_jis"
        raise InvalidDataset(told, field="encoding")
    return {"utf-8-sig": UTF8, "cp1252": WINDOWS_1252}.get(known.name, known.name)


def _check_delimiter(given: str) -> str:
    delimiter = {"\\t": "\t", "tab": "\t"}.get(given, given)
    if len(delimiter) != 1 or delimiter.isalnum() or delimiter in '"\r\n\0':
        told = f"{show_label(given)} is not a delimiter; name one character such as , or ; or | or the word tab"
        raise InvalidDataset(told, field="delimiter")
    return delimiter


def show_encoding(encoding: str) -> str:
    """The name of an encoding for people."""
    return encoding.upper().replace("WINDOWS", "Windows").replace("CP125", "Windows-125")


def tell_place(text: str, position: int, line: int) -> str:
    """The line and column (from 1) of a position in a text that begins on `line`."""
    before = text[:position].replace("\r\n", "\n").replace("\r", "\n")
    return f"line {line + before.count(chr(10)):,}, column {len(before) - before.rfind(chr(10)):,}"


def quote_around(text: str, position: int) -> str:
    """The characters around a position, quoted; a byte that could not be decoded is shown as \ufffd."""
    start, end = max(position - _AROUND, 0), position + _AROUND
    words = UNDECODED.sub("\ufffd", text[start:end].rstrip("\r\n"))
    return repr(f"{'…' if start else ''}{words}{'…' if end < len(text) else ''}")


def find_encoding(file: io.BufferedReader, given: Dialect, usual: str | None, field: str) -> FoundDialect:
    """The encoding of a file.

    Args:
        usual: encoding of earlier files, taken for a file that is not UTF-8; None to find it.

    Raises:
        InvalidDataset: the encoding cannot be found.
        UnsupportedDatasetFormat: the file is not text.
    """
    head = next(_read_chunks(file), b"")
    is_marked = head.startswith(codecs.BOM_UTF8)
    if given.encoding is not None:
        return FoundDialect(given.encoding, has_mark=is_marked or given.encoding != UTF8)
    for encoding, marks in _MARKS.items():
        if head.startswith(marks):
            return FoundDialect(encoding, notes=(f"the file is read as {encoding.upper()}, as its first bytes say",))
    wide = "utf-16-le" if head[1::2].count(0) > head[::2].count(0) else "utf-16-be"
    firsts = head[wide == "utf-16-le" :: 2]  # of the two bytes of a character; of all alphabets they are small
    is_wide = 50 * head.count(0) > len(head) and 3 * len(firsts.translate(None, bytes(range(32)))) < len(firsts)
    if is_wide and not {*map(chr, _CONTROLS)} & {*head.decode(wide, "ignore")} and _is_of(file, wide):
        return FoundDialect(wide, notes=(f"the file is read as {wide.upper()}",))
    is_japanese = head.isascii() and _TO_JAPANESE.search(head) is not None
    if is_japanese and not (usual or "").startswith("iso2022_jp"):
        told = "the file reads as Japanese in iso2022_jp: name that (encoding: iso2022_jp), or perhaps iso2022_jp_ext"
        raise InvalidDataset(told, field=field)
    has_nuls = 10 * (2 * firsts.count(0) - head.count(0)) > len(head)  # in one of two bytes alone, as wide text has
    if not (is_japanese or has_nuls) and (_is_of(file, UTF8) or _is_mostly_good(file, UTF8)):
        return FoundDialect(UTF8, has_mark=is_marked)
    if 100 * (len(head) - len(head.translate(None, _CONTROLS))) > len(head):
        raise UnsupportedDatasetFormat(
            "the file is not text: it holds control characters, as pictures and programs do; save the table as CSV or "
            f"JSONL, or name the encoding of a text (encoding), e.g. {wide}",
            field=field,
        )
    lines = [line for line in head.splitlines() if not line.isascii()][:_NUM_TELLING_LINES]
    is_usual = usual is not None and not usual.startswith("utf") and _can_be(file, usual)
    legacy = usual if is_usual else _find_latin(file, lines)
    if legacy is None:
        told = f"the file is neither UTF-8 nor in the Latin letters of Windows-1252; {_name_others(file, lines)}"
        raise InvalidDataset(told, field=field)
    note = f"the file is not UTF-8 and is read as {show_encoding(legacy)}; name another (encoding) if letters are wrong"
    return FoundDialect(legacy, notes=(note,))


def _find_latin(file: io.BufferedReader, lines: list[bytes]) -> str | None:
    """The encoding of Latin letters in which most telling lines are of a language that is written in it."""
    numbers = dict[str, int]()
    for encoding, languages in _LATIN.items():
        if _can_be(file, encoding):
            counts = count_languages([line.decode(encoding, "ignore") for line in lines])
            numbers[encoding] = sum(counts[language] for language in languages.split())
    return max(numbers, key=lambda encoding: numbers[encoding], default=None)


def _name_others(file: io.BufferedReader, lines: list[bytes]) -> str:
    """What the user can do: name one of the encodings in which the text has the letters of a language."""
    fits = dict[str, float]()
    for encoding, (_, common, usual) in _OTHERS.items():
        if _is_of(file, encoding):
            foreign = _FOREIGN.findall(b"\n".join(lines).decode(encoding, "ignore"))
            letters = list(filter(str.isalpha, foreign))
            share = sum(_is_common(one, common) for one in letters) / max(len(letters), 1)
            fits[encoding] = min(share / usual, 1.0) * len(letters) / max(len(foreign), 1)
    named = [one for one in sorted(fits, key=lambda one: -fits[one]) if fits[one] >= _FITS]
    if not named:
        return "name its encoding (encoding), e.g. windows-1251, or save it as UTF-8"
    also = f", or perhaps {' or '.join(named[1:3])}" if named[1:] else ""
    return f"it reads as {_OTHERS[named[0]][0]} in {named[0]}: name that (encoding: {named[0]}){also}"


def _is_common(letter: str, common: str | tuple[str, range]) -> bool:
    if isinstance(common, str):
        return letter in common
    return (letter.encode(common[0], "ignore") or b"\0")[0] in common[1]


def _can_be(file: io.BufferedReader, encoding: str) -> bool:
    """Whether every byte is of the encoding. Of Latin letters nearly every byte is enough, but those outside ASCII
    stand among those of ASCII, as in Latin script."""
    if encoding not in _LATIN:
        return _is_of(file, encoding)
    letters = foreign = high = in_runs = 0
    for chunk in _read_chunks(file):
        high += len(_HIGH.findall(chunk))
        in_runs += sum(map(len, _LONG_RUN.findall(chunk)))
    for text in _decode(file, encoding):
        words = [word for word in _WORD.findall(text) if not word.isascii()]
        letters += sum(map(len, words))
        foreign += sum(len(_FOREIGN.findall(word)) for word in words)
    is_latin = foreign <= _MAX_FOREIGN_SHARE * letters and in_runs <= _MAX_RUN_SHARE * high
    return is_latin and _is_mostly_good(file, encoding)


def _is_of(file: io.BufferedReader, encoding: str) -> bool:
    try:
        return all(True for _ in _decode(file, encoding, "strict"))
    except UnicodeDecodeError:
        return False


def _is_mostly_good(file: io.BufferedReader, encoding: str) -> bool:
    """Whether more of the characters outside ASCII are good than bad."""
    texts = _decode(file, encoding)
    return sum(len(_FOREIGN.findall(text)) - 2 * len(UNDECODED.findall(text)) for text in texts) > 0


def _read_chunks(file: io.BufferedReader) -> Iterator[bytes]:
    file.seek(0)
    return iter(partial(file.read, _CHUNK_BYTES), b"")


def _decode(file: io.BufferedReader, encoding: str, errors: str = "surrogateescape") -> Iterator[str]:
    """The text of a file in pieces."""
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    yield from map(decoder.decode, _read_chunks(file))
    yield decoder.decode(b"", final=True)
