"""A text file that is read several times, from its beginning."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from lens_engine.errors import InvalidDataset
from lens_engine.reading.dialect import UTF8, FoundDialect, show_encoding
from lens_engine.reading.errors import DatasetTooLarge
from lens_engine.reading.limits import ParsingLimits

NUM_HEAD_CHARACTERS = 64 * 1024
"""Number of characters by which a shape is recognised."""


@dataclass(frozen=True)
class TextFile:
    """A text file. Its shape is told by the content."""

    file: io.BufferedReader
    dialect: FoundDialect
    limits: ParsingLimits
    field: str
    delimiter: str | None = None  #: that the caller named
    usual_delimiter: str | None = None  #: of earlier files
    known: tuple[str, ...] = ()  #: names of columns that the caller knows

    @cached_property
    def head(self) -> str:
        with self._open() as text:
            return text.read(NUM_HEAD_CHARACTERS)

    @cached_property
    def head_lines(self) -> list[str]:
        """The first lines, with their ends; without the last if it may be cut off."""
        lines = io.StringIO(self.head, newline="").readlines()
        return lines[:-1] if len(self.head) >= NUM_HEAD_CHARACTERS and len(lines) > 1 else lines

    @cached_property
    def text(self) -> str:
        """The whole text.

        Raises:
            DatasetTooLarge: it holds more values than the rows of a dataset may have.
        """
        with self._open() as opened:
            text = opened.read()
        most = 100 * self.limits.max_rows
        if sum(map(text.count, ",[{")) > most:
            raise DatasetTooLarge(f"the file holds more than {most:,} values; send a sample of it", field=self.field)
        return text

    def lines(self, newline: str = "\n") -> Iterator[str]:
        """The lines, with their ends. A line that is longer than a row may be comes cut, one character too long.

        Args:
            newline: as of `open`: which characters end a line.
        """
        longest = self.limits.max_row_characters
        with self._open(newline) as text:
            while line := text.readline(longest + 1):
                yield line
                while len(line) > longest and line[-1] not in "\r\n":
                    line = text.readline(longest + 1) or "\n"

    def numbered_lines(self) -> Iterator[tuple[int, str]]:
        """The lines that are not blank, without their ends and outer spaces, with their numbers from 1."""
        for number, line in enumerate(self.lines(""), start=1):
            if not line.isspace():
                yield number, line.strip()

    @contextmanager
    def _open(self, newline: str = "") -> Iterator[io.TextIOWrapper]:
        """The file as text, from its beginning. A byte that is not of the encoding becomes a surrogate (`UNDECODED`).

        Raises:
            InvalidDataset: the encoding has no such bytes, and no error handler for them.
        """
        encoding = self.dialect.encoding
        self.file.seek(0)
        codec = "utf-8-sig" if encoding == UTF8 else encoding
        text = io.TextIOWrapper(self.file, encoding=codec, errors="surrogateescape", newline=newline)
        try:
            yield text
        except UnicodeError:  # UTF-16 without its mark has no decode error
            raise InvalidDataset(
                f"the file holds bytes that are not {show_encoding(encoding)}; name its encoding (encoding), or save "
                "it as UTF-8",
                field=self.field,
            ) from None
        finally:
            text.detach()
