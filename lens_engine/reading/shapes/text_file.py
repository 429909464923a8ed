"""A text file: its lines, its beginning, or all of it.

Its first piece is kept, so that what looks at the beginning alone reads no more of the file.
"""

import codecs
import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Never

from lens_engine.errors import InvalidDataset
from lens_engine.reading.dialect import UTF8, Dialect, FoundDialect, decode, find_encoding, show_encoding
from lens_engine.reading.limits import DatasetTooLarge, ParsingLimits

_PIECE_BYTES = 2**20
NUM_HEAD_CHARACTERS = 64 * 1024  #: by which a shape is recognised
_NUM_HEAD_LINES = 5_000


@dataclass(frozen=True)
class TextFile:
    """A text file. Its shape is told by the content."""

    file: io.BufferedReader
    first: bytes  #: the first piece of the file
    dialect: FoundDialect
    limits: ParsingLimits
    field: str
    delimiter: str | None = None  #: that the caller named
    usual_delimiter: str | None = None  #: of earlier files
    known: tuple[str, ...] = ()  #: names of columns that the caller knows

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
        """The lines, with their ends (`newline` as of `open`). One longer than a row may be comes cut, a character too
        long.
        """
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
        text = decode(self.first, _codec(self.dialect.encoding), "surrogateescape")
        if text is None:
            self._refuse_bytes()
        return text

    def _decode(self) -> Iterator[str]:
        """The text in pieces, from its beginning. A byte that is not of the encoding becomes a surrogate."""
        decoder = codecs.getincrementaldecoder(_codec(self.dialect.encoding))("surrogateescape")
        try:
            yield from map(decoder.decode, read_pieces(self.file, self.first))
            yield decoder.decode(b"", final=True)
        except UnicodeError:  # UTF-16 has no bytes to keep
            self._refuse_bytes()

    def _refuse_bytes(self) -> Never:
        told = f"the file holds bytes that are not {show_encoding(self.dialect.encoding)}; name its encoding (encoding)"
        raise InvalidDataset(f"{told}, or save it as UTF-8", field=self.field) from None


def open_text(
    file: io.BufferedReader, limits: ParsingLimits, field: str, given: Dialect, usual: Dialect, known: tuple[str, ...]
) -> TextFile:
    """The file as text; see `find_encoding`."""
    file.seek(0)
    first = file.read(_PIECE_BYTES)
    telling = next((piece for piece in read_pieces(file, first) if not piece.isascii()), b"")
    found = find_encoding(telling, first, given, usual.encoding, field)
    return TextFile(file, first, found, limits, field, given.delimiter, usual.delimiter, known)


def read_pieces(file: io.BufferedReader, first: bytes) -> Iterator[bytes]:
    """The file in pieces, of which the first is known."""
    yield first
    file.seek(len(first))
    yield from iter(partial(file.read, _PIECE_BYTES), b"")


def _codec(encoding: str) -> str:
    return "utf-8-sig" if encoding == UTF8 else encoding
