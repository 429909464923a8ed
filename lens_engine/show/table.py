"""What is shown: tables of texts, confusion matrices, and sections of a report."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from lens_engine.prompt.wording import shorten

_MOST_CHARACTERS = 72
"""Longest cell of a table as text (characters)."""

NOTHING = "–"
"""Placeholder for a missing value."""


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
        written = filter(None, (self.header, *self.rows, self.footer))
        lines = [[shorten(cell, _MOST_CHARACTERS) for cell in line] for line in written]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join([self.title, *self._align(lines, widths), *filter(None, [self.caption])])

    def _align(self, lines: list[list[str]], widths: list[int]) -> Iterator[str]:
        for line in lines:
            cells = zip(line, widths, self.is_left, strict=True)
            yield "  " + "  ".join(cell.ljust(n) if left else cell.rjust(n) for cell, n, left in cells).rstrip()


@dataclass(frozen=True)
class Matrix:
    """A confusion matrix."""

    name: str  #: of the classifier or the use, as a part of ids and addresses
    title: str
    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]  #: of rows; a line for each label, a cell for each answer


class Figure(NamedTuple):
    """A figure that stands large."""

    name: str
    value: str
    note: str
    is_first: bool = False  #: whether it is what to use


@dataclass(frozen=True)
class Section:
    """A heading, and below it sentences, figures, charts, matrices, tables, and what is folded away."""

    name: str  #: id of the heading
    title: str
    text: tuple[str, ...] = ()
    lines: tuple[tuple[str, tuple[str, ...]], ...] = ()  #: sentences of a box, each line with its name
    figures: tuple[Figure, ...] = ()
    charts: tuple[Markup, ...] = ()
    matrices: tuple[Matrix, ...] = ()
    tables: tuple[Table, ...] = ()
    folded: tuple[Table, ...] = ()
    code: tuple[tuple[str, str], ...] = ()  #: titles, and texts that are shown as they are
    notes: tuple[str, ...] = ()  #: sentences that are folded away
    is_lead: bool = False  #: whether the first sentence is the one to read
    is_special: bool = False  #: whether it is for few readers, and folded as a whole
