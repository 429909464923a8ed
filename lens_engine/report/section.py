"""What a section of a report is made of."""

from dataclasses import dataclass

from markupsafe import Markup

from lens_engine.views.table import Table


@dataclass(frozen=True)
class Matrix:
    """A confusion matrix."""

    name: str  #: of the classifier or the use, as a part of ids and addresses
    title: str
    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]  #: of rows; a line for each label, a cell for each answer


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
