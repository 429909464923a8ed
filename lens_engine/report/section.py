"""What a section of a report is made of."""

from dataclasses import dataclass

from markupsafe import Markup

from lens_engine.views.table import Table


@dataclass(frozen=True)
class Cell:
    """How many rows of one label were answered with another, or with the same."""

    gold: int  #: place of the label among the labels
    answer: int  #: place of the answer among the labels
    count: int

    @property
    def kind(self) -> str:
        """Class of the cell: `right`, `wrong`, or `none` without rows."""
        return "none" if not self.count else "right" if self.gold == self.answer else "wrong"


@dataclass(frozen=True)
class Matrix:
    """A confusion matrix."""

    name: str  #: of the classifier or the use, as a part of ids and addresses
    title: str
    labels: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]  #: a line for each label, a cell for each answer


@dataclass(frozen=True)
class Section:
    """A heading, and below it sentences, charts, matrices, tables, and what is folded away."""

    name: str  #: id of the heading
    title: str
    text: tuple[str, ...] = ()
    charts: tuple[Markup, ...] = ()
    matrices: tuple[Matrix, ...] = ()
    tables: tuple[Table, ...] = ()
    folded: tuple[Table, ...] = ()
    code: tuple[tuple[str, str], ...] = ()  #: titles, and texts that are shown as they are
    is_lead: bool = False  #: whether the first sentence is the one to read
