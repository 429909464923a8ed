"""How a text file is written: its encoding, and the delimiter of a table; and where in it a fault is.

The encoding is that of a byte order mark, or UTF-8, or else Windows-1252; of the last two the first piece of the file
with a byte outside ASCII decides. A file of other letters is refused, because a wrong guess gives wrong letters without
a word; the refusal names the encodings whose most frequent letters the file has.
"""

import codecs
import re
from contextlib import suppress
from dataclasses import dataclass

from lens_engine.errors import InvalidDataset
from lens_engine.reading.limits import UnsupportedDatasetFormat
from lens_engine.task.wording import show_label

UTF8, WINDOWS_1252 = "utf-8", "windows-1252"
UNDECODED = re.compile("[\udc80-\udcff]")  #: a byte that is not of the encoding, as "surrogateescape" decodes it
_FOREIGN, _WORD = re.compile(r"[^\x00-\x7f]"), re.compile(r"[^\W\d_]{3,}")
_HIGH, _LONG_RUN = re.compile(rb"[\x80-\xff]"), re.compile(rb"[\x80-\xff]{3,}")
_AROUND = 15  #: number of characters shown before and after a place
_CONTROLS = bytes({*range(32), 127} - {*b"\t\n\x0b\f\r\x1a\x1b"})
"""Bytes that no text has. ISO 2022 has Escape, and old editors end a file by Control-Z."""
_MAX_FOREIGN_SHARE = 0.6  #: of letters outside ASCII in Latin words that have any; Cyrillic words have no other
_MAX_RUN_SHARE = 0.4  #: of the bytes outside ASCII that stand three or more in a row; Latin letters rarely do

_NO_TEXT = frozenset({"idna", "mbcs", "oem", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"})
"""Encodings of Python that no file is written in."""
_MARKS = {
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),  # first: it begins with the mark of UTF-16
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
_OTHERS: dict[str, tuple[str | tuple[str, range], float]] = {
    "windows-1251": ("оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъіїєґў", 0.7),
    "shift_jis": ("".join(map(chr, range(0x3041, 0x30FF))), 0.3),
    "cp949": (("euc_kr", range(0xB0, 0xC9)), 0.6),
    "gb18030": (("gb2312", range(0xB0, 0xD8)), 0.6),
    "big5": (("big5", range(0xA4, 0xC7)), 0.6),
}
"""Encodings that a refusal names: their most frequent letters, and the least share of these. Letters of two bytes are
told by an older part of the encoding, and by first bytes."""


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
    if not delimiter or any(one.isalnum() or one in '"\r\n\0' for one in delimiter):
        told = f"{show_label(given)} is not a delimiter; name it, such as , or ; or | or || or the word tab"
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


def find_encoding(telling: bytes, head: bytes, given: Dialect, usual: str | None, field: str) -> FoundDialect:
    """The encoding of a file.

    Args:
        telling: the first piece of the file with a byte outside ASCII; empty if none has.
        head: the first piece of the file.
        usual: encoding of earlier files, taken for a file that is not UTF-8; None to find it.

    Raises:
        InvalidDataset: the encoding cannot be found.
        UnsupportedDatasetFormat: the file is not text.
    """
    is_marked = head.startswith(codecs.BOM_UTF8)
    if given.encoding is not None:
        return FoundDialect(given.encoding, has_mark=is_marked or given.encoding != UTF8)
    for encoding, marks in _MARKS.items():
        if head.startswith(marks):
            return FoundDialect(encoding, notes=(f"the file is read as {encoding.upper()}, as its first bytes say",))
    is_utf8 = _is_of_utf8(telling)
    least = 10 if is_utf8 else 100
    if least * (len(head) - len(head.translate(None, b"\0" if is_utf8 else _CONTROLS))) > len(head):
        raise UnsupportedDatasetFormat(
            "the file is not text: it holds control characters, as pictures and programs do; save the table as CSV or "
            "JSONL, or name the encoding of a text (encoding), e.g. utf-16-le",
            field=field,
        )
    if is_utf8:
        return FoundDialect(UTF8, has_mark=is_marked)
    is_usual = usual is not None and not usual.startswith("utf") and decode(telling, usual) is not None
    legacy = usual if usual and is_usual else WINDOWS_1252
    if not is_usual and not _is_latin(telling):
        told = f"the file is neither UTF-8 nor in the Latin letters of Windows-1252; {_name_others(telling)}"
        raise InvalidDataset(told, field=field)
    note = f"the file is not UTF-8 and is read as {show_encoding(legacy)}; name another (encoding) if letters are wrong"
    return FoundDialect(legacy, notes=(note,))


def decode(piece: bytes, encoding: str, errors: str = "strict") -> str | None:
    """The text of a piece of a file, which may end within a character; None if it is not of the encoding."""
    try:
        return codecs.getincrementaldecoder(encoding)(errors).decode(piece)
    except UnicodeError:
        return None


def _is_of_utf8(piece: bytes) -> bool:
    """Whether more of the characters outside ASCII are good than bad."""
    text = decode(piece, UTF8, "surrogateescape") or ""
    return text.isascii() or len(_FOREIGN.findall(text)) > 2 * len(UNDECODED.findall(text))


def _is_latin(piece: bytes) -> bool:
    """Whether nearly every byte is of Windows-1252, and those outside ASCII stand among those of ASCII, as in Latin
    script."""
    text = decode(piece, WINDOWS_1252, "surrogateescape") or ""
    words = [word for word in _WORD.findall(text) if not word.isascii()]
    foreign, letters = sum(len(_FOREIGN.findall(word)) for word in words), sum(map(len, words))
    high, in_runs = len(_HIGH.findall(piece)), sum(map(len, _LONG_RUN.findall(piece)))
    is_mostly_good = len(_FOREIGN.findall(text)) > 2 * len(UNDECODED.findall(text))
    return is_mostly_good and foreign <= _MAX_FOREIGN_SHARE * letters and in_runs <= _MAX_RUN_SHARE * high


def _name_others(piece: bytes) -> str:
    """What the user can do: name one of the encodings whose frequent letters the file has."""
    shares = dict[str, float]()
    for encoding, (common, least) in _OTHERS.items():
        letters = list(filter(str.isalpha, _FOREIGN.findall(decode(piece, encoding) or "")))
        share = sum(_is_common(one, common) for one in letters) / max(len(letters), 1)
        if share >= least:
            shares[encoding] = share / least
    best, *more = sorted(shares, key=lambda one: -shares[one]) or [""]
    also = f", or perhaps {' or '.join(more)}" if more else ""
    if not best:
        return "name its encoding (encoding), or save it as UTF-8"
    return f"it may be in {best}: name that (encoding: {best}){also}, or save it as UTF-8"


def _is_common(letter: str, common: str | tuple[str, range]) -> bool:
    if isinstance(common, str):
        return letter in common
    return (letter.encode(common[0], "ignore") or b"\0")[0] in common[1]
