"""A text file that is read several times, from its beginning."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Never

from lens_engine.errors import InvalidDataset
from lens_engine.reading.dialect import FoundDialect, show_encoding
from lens_engine.reading.encoding import open_text
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
        return self._read(NUM_HEAD_CHARACTERS)

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
        text, most = self._read(-1), 100 * self.limits.max_rows
        if sum(map(text.count, ",[{")) > most:
            raise DatasetTooLarge(f"the file holds more than {most:,} values; send a sample of it", field=self.field)
        return text

    def lines(self, newline: str = "\n") -> Iterator[str]:
        """The lines, with their ends. A line that is longer than a row may be comes cut, one character too long.

        Args:
            newline: as of `open`: which characters end a line.
        """
        longest = self.limits.max_row_characters
        text = self._open(newline)
        try:
            while line := text.readline(longest + 1):
                yield line
                while len(line) > longest and line[-1] not in "\r\n":
                    line = text.readline(longest + 1) or "\n"
        except UnicodeError:  # UTF-16 without its mark has no decode error
            self._refuse_encoding()
        finally:
            text.detach()

    def numbered_lines(self) -> Iterator[tuple[int, str]]:
        """The lines that are not blank, without their ends and outer spaces, with their numbers from 1."""
        for number, line in enumerate(self.lines(""), start=1):
            if not line.isspace():
                yield number, line.strip()

    def _open(self, newline: str) -> io.TextIOWrapper:
        return open_text(self.file, self.dialect.encoding, newline)

    def _read(self, number: int) -> str:
        text = self._open("")
        try:
            return text.read(number)
        except UnicodeError:
            self._refuse_encoding()
        finally:
            text.detach()

    def _refuse_encoding(self) -> Never:
        """
        Raises:
            InvalidDataset: always.
        """
        name = show_encoding(self.dialect.encoding)
        raise InvalidDataset(
            f"the file holds bytes that are not {name}; name its encoding (encoding), or save it as UTF-8",
            field=self.field,
        ) from None
