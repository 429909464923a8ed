"""A table of texts, for a terminal or a page."""

from collections.abc import Iterator
from dataclasses import dataclass

_MOST_CHARACTERS = 72
"""Longest cell of a table as text (characters)."""

NOTHING = "–"
"""Cell of a figure that there is not."""


@dataclass(frozen=True)
class Table:
    """A title, a header, rows and perhaps a last row of totals, all as strings."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[str, ...] = ("",)  #: names of the columns that hold words and stand left; others hold figures
    footer: tuple[str, ...] = ()
    marked: frozenset[int] = frozenset()  #: numbers of the rows that stand out, from 0
    caption: str = ""

    @property
    def is_left(self) -> tuple[bool, ...]:
        """Whether each column stands left."""
        return tuple(name in self.words for name in self.header)

    def as_text(self) -> str:
        """The table as lines of text. A cell has one line, and a long one is cut."""
        lines = [[shorten(cell) for cell in line] for line in (self.header, *self.rows, self.footer) if line]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join([self.title, *self._align(lines, widths), *filter(None, [self.caption])])

    def _align(self, lines: list[list[str]], widths: list[int]) -> Iterator[str]:
        for line in lines:
            cells = zip(line, widths, self.is_left, strict=True)
            yield "  " + "  ".join(cell.ljust(n) if left else cell.rjust(n) for cell, n, left in cells).rstrip()


def shorten(text: str, most: int = _MOST_CHARACTERS) -> str:
    """A text on one line, cut to `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def describe_seconds(seconds: float) -> str:
    """Format a duration as `h:mm:ss` or `m:ss`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def describe_usd(usd: float) -> str:
    """Format an amount of money with cents, or with more decimals where it is small."""
    decimals = 2 if usd >= 1 or usd == 0 else 4 if usd >= 0.01 else 6
    return f"{usd:,.{decimals}f} USD"
