"""A finding: tables that can be read without further text."""

import csv
import io
from dataclasses import dataclass

Value = str | int | float | None
"""A cell of a table; None is shown as a dash."""


@dataclass(frozen=True)
class Table:
    """Columns and rows. `name` distinguishes several tables of one finding, `caption` says what is shown.

    `in_csv` is off for a table that only people read, `in_page` for a table that only programs read.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    name: str = ""
    caption: str = ""
    in_page: bool = True
    in_csv: bool = True

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{row} has {len(row)} values for the {len(self.columns)} columns {self.columns}")

    def markdown(self) -> str:
        """A GitHub table; fractions with three digits."""
        lines = [self.columns, ["---"] * len(self.columns), *(map(_show, row) for row in self.rows)]
        table = "\n".join(f"| {' | '.join(_escape(text) for text in line)} |" for line in lines) + "\n"
        return f"{self.caption}\n\n{table}" if self.caption else table

    def csv(self) -> str:
        """Every digit; None is empty."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(["" if value is None else value for value in row] for row in self.rows)
        return text.getvalue()


@dataclass(frozen=True)
class Finding:
    """The outcome of one experiment. The names of its files begin with `name`.

    `notes` say what was run, at which size, and how to read it: one paragraph each.
    """

    name: str
    title: str
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()


def show_share(value: float | None) -> str:
    """A fraction with three digits, as everywhere in Lens."""
    return "–" if value is None else f"{value:.3f}"


def _show(value: Value) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return show_share(value)
    return f"{value:,}" if isinstance(value, int) else value


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
