"""The first room: the bytes of a text file as its lines, its beginning, or all of it; and how it is written.

The encoding is that of a byte order mark, or UTF-8, or else Windows-1252; of the last two the first piece of the file
with a byte outside ASCII decides. A file of other letters is refused, because a wrong guess gives wrong letters without
a word.
"""

import codecs
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Never

from lens_engine.errors import InvalidDataset
from lens_engine.files.limits import DatasetTooLarge, ParsingLimits, UnsupportedDatasetFormat
from lens_engine.prompt.wording import show_label

UTF8, WINDOWS_1252 = "utf-8", "windows-1252"
UNDECODED = re.compile("[\udc80-\udcff]")  #: a byte that is not of the encoding, as "surrogateescape" decodes it
NUM_HEAD_CHARACTERS = 64 * 1024  #: by which a shape is recognised
_PIECE_BYTES, _NUM_HEAD_LINES = 2**20, 5_000
_FOREIGN = re.compile(r"[^\x00-\x7f]")
_HIGH, _LONG_RUN = re.compile(rb"[\x80-\xff]"), re.compile(rb"[\x80-\xff]{3,}")
_AROUND = 15  #: number of characters shown before and after a place
_CONTROLS = bytes({*range(32), 127} - {*b"\t\n\x0b\f\r\x1a\x1b"})
"""Bytes that no text has. ISO 2022 has Escape, and old editors end a file by Control-Z."""
_MAX_RUN_SHARE = 0.4  #: of the bytes outside ASCII that stand three or more in a row; Latin letters rarely do
_NO_TEXT = frozenset({"idna", "mbcs", "oem", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"})
"""Encodings of Python that no file is written in."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a text file is written; None for what is to be found.

    Raises:
        InvalidDataset: Python knows no such encoding, or the delimiter is no string that can separate.
    """

    encoding: str | None = None
    delimiter: str | None = None  #: of a CSV file; also written as `\\t` or `tab`

    def __post_init__(self) -> None:
        if (name := self.encoding) is not None:
            known = None
            with suppress(LookupError, ValueError):
                known = codecs.lookup(name)
            if known is None or not known._is_text_encoding or known.name in _NO_TEXT:
                told = f"{show_label(name)} is not an encoding; name one such as utf-8, windows-1252 or shift_jis"
                raise InvalidDataset(told, field="encoding")
            found = {"utf-8-sig": UTF8, "cp1252": WINDOWS_1252}.get(known.name, known.name)
            object.__setattr__(self, "encoding", found)
        if (given := self.delimiter) is not None:
            delimiter = {"\\t": "\t", "tab": "\t"}.get(given, given)
            if not delimiter or any(one.isalnum() or one in '"\r\n\0' for one in delimiter):
                told = f"{show_label(given)} is not a delimiter; name it, such as , or ; or | or || or the word tab"
                raise InvalidDataset(told, field="delimiter")
            object.__setattr__(self, "delimiter", delimiter)


ANY_DIALECT = Dialect()


@dataclass(frozen=True, slots=True)
class FoundDialect:
    """How a file is read, and what should be said of it."""

    encoding: str
    delimiter: str | None = None  #: None for a file without delimiters
    notes: tuple[str, ...] = ()
    has_mark: bool = True  #: whether a CSV file made from it begins with a byte order mark, for spreadsheets


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


@dataclass(frozen=True)
class TextFile:
    """A text file. Its first piece is kept, so that what looks at the beginning alone reads no more of the file."""

    file: io.BufferedReader
    first: bytes  #: the first piece of the file
    dialect: FoundDialect
    limits: ParsingLimits
    field: str
    delimiter: str | None = None  #: that the caller named
    usual_delimiter: str | None = None  #: of earlier files
    known: tuple[str, ...] = ()  #: names of columns that the caller knows

    @property
    def _codec(self) -> str:
        return "utf-8-sig" if self.dialect.encoding == UTF8 else self.dialect.encoding

    @cached_property
    def head(self) -> str:
        return self._decode_first()[:NUM_HEAD_CHARACTERS]

    @cached_property
    def head_lines(self) -> list[str]:
        """The lines of the first piece, with their ends; without the last if it may be cut off."""
        lines = list(islice(io.StringIO(self._decode_first(), newline=""), _NUM_HEAD_LINES))
        is_cut = len(lines) < _NUM_HEAD_LINES and len(self.first) == _PIECE_BYTES
        return lines[:-1] if is_cut and len(lines) > 1 else lines

    @cached_property
    def text(self) -> str:
        """The whole text; one with more values than the rows of a dataset may have is refused."""
        text = "".join(self._decode())
        most = 100 * self.limits.max_rows
        if sum(map(text.count, ",[{")) > most:
            raise DatasetTooLarge(f"the file holds more than {most:,} values; send a sample of it", field=self.field)
        return text

    def lines(self, newline: str = "") -> Iterator[str]:
        """The lines, with their ends (`newline` as of `open`). One longer than a row may be ends a character later."""
        longest, rest = self.limits.max_row_characters, ""
        for text in self._decode():
            *lines, rest = io.StringIO(rest + text, newline=newline).readlines() or [""]
            rest = rest if len(rest) <= longest else rest[:longest] + rest[-1]  # which may be its end
            yield from (line[: longest + 1] for line in lines)
        if rest:
            yield rest

    def numbered_lines(self) -> Iterator[tuple[int, str]]:
        """The lines that are not blank, without their ends and outer spaces, with their numbers from 1."""
        num_blank = 0
        for number, line in enumerate(self.lines(), start=1):
            if stripped := line.strip():
                yield number, stripped
            else:
                num_blank += 1
                self.limits.check_blank(num_blank, self.field)

    def _decode_first(self) -> str:
        text = _decode(self.first, self._codec, "surrogateescape")
        if text is None:
            self._refuse_bytes()
        return text

    def _decode(self) -> Iterator[str]:
        """The text in pieces, from its beginning. A byte that is not of the encoding becomes a surrogate."""
        decoder = codecs.getincrementaldecoder(self._codec)("surrogateescape")
        try:
            yield from map(decoder.decode, _read_pieces(self.file, self.first))
            yield decoder.decode(b"", final=True)
        except UnicodeError:  # UTF-16 has no bytes to keep
            self._refuse_bytes()

    def _refuse_bytes(self) -> Never:
        told = f"the file holds bytes that are not {show_encoding(self.dialect.encoding)}; name its encoding (encoding)"
        raise InvalidDataset(f"{told}, or save it as UTF-8", field=self.field) from None


def open_text(
    file: io.BufferedReader, limits: ParsingLimits, field: str, given: Dialect, usual: Dialect, known: tuple[str, ...]
) -> TextFile:
    """The file as text. `usual`: how earlier files were written. `known`: names of columns that the caller knows."""
    file.seek(0)
    first = file.read(_PIECE_BYTES)
    telling = next((piece for piece in _read_pieces(file, first) if not piece.isascii()), b"")
    found = _find_encoding(telling, first, given.encoding, usual.encoding, field)
    return TextFile(file, first, found, limits, field, given.delimiter, usual.delimiter, known)


def _read_pieces(file: io.BufferedReader, first: bytes) -> Iterator[bytes]:
    yield first
    file.seek(len(first))
    yield from iter(partial(file.read, _PIECE_BYTES), b"")


def _find_encoding(telling: bytes, head: bytes, given: str | None, usual: str | None, field: str) -> FoundDialect:
    """The encoding of a file, by its first piece with a byte outside ASCII, if any, and its first piece."""
    is_marked = head.startswith(codecs.BOM_UTF8)
    if given is not None:
        return FoundDialect(given, has_mark=is_marked or given != UTF8)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return FoundDialect("utf-16", notes=("the file is read as UTF-16, as its first bytes say",))
    is_utf8 = _is_mostly_good(telling, UTF8)
    num_controls = len(head) - len(head.translate(None, b"\0" if is_utf8 else _CONTROLS))
    if (10 if is_utf8 else 100) * num_controls > len(head):
        why = "it holds control characters, as pictures and programs do; save the table as CSV or JSONL"
        told = f"the file is not text: {why}, or name the encoding of a text (encoding), e.g. utf-16-le"
        raise UnsupportedDatasetFormat(told, field=field)
    if is_utf8:
        return FoundDialect(UTF8, has_mark=is_marked)
    in_runs = sum(map(len, _LONG_RUN.findall(telling)))
    if usual is not None and not usual.startswith("utf") and _decode(telling, usual) is not None:
        legacy = usual
    elif in_runs <= _MAX_RUN_SHARE * len(_HIGH.findall(telling)) and _is_mostly_good(telling, WINDOWS_1252):
        legacy = WINDOWS_1252
    else:
        told = "the file is not UTF-8, and seems not to have the Latin letters of Windows-1252"
        advice = "save it as UTF-8, or name its encoding (encoding), e.g. windows-1251, shift_jis or gb18030"
        raise InvalidDataset(f"{told}; {advice}", field=field)
    note = f"the file is not UTF-8 and is read as {show_encoding(legacy)}; name another (encoding) if letters are wrong"
    return FoundDialect(legacy, notes=(note,))


def _decode(piece: bytes, encoding: str, errors: str = "strict") -> str | None:
    """The text of a piece of a file, which may end within a character; None if it is not of the encoding."""
    try:
        return codecs.getincrementaldecoder(encoding)(errors).decode(piece)
    except UnicodeError:
        return None


def _is_mostly_good(piece: bytes, encoding: str) -> bool:
    """Whether more of the characters outside ASCII are good than bad."""
    text = _decode(piece, encoding, "surrogateescape") or ""
    return text.isascii() or len(_FOREIGN.findall(text)) > 2 * len(UNDECODED.findall(text))
