"""Rows that are left out: what is wrong with the first, and how many there are of each kind."""

from collections import Counter

from lens_engine.errors import InputProblem
from lens_engine.reading.table import Fault
from lens_engine.task.text_checks import MAX_SHOWN
from lens_engine.task.wording import show_count
from lens_engine.types import Example

NO_LABEL = "without a label"
"""The kind of rows that are not lost: they have a text to classify."""


class LeftOut:
    """Counts rows, and keeps what a message says of them."""

    def __init__(self, field: str) -> None:
        self.field = field  #: name of the dataset
        self.problems: list[InputProblem] = []  #: of the first rows, in order
        self._numbers = Counter[str]()  #: of rows, by kind
        self._places: dict[str, list[str]] = {}  #: of the first rows, by kind

    @property
    def number(self) -> int:
        return self._numbers.total()

    def add(self, fault: Fault, row: int, line: int | None) -> None:
        if len(self.problems) < MAX_SHOWN or row < (self.problems[-1].row or 0):
            place = Example(row, "", "", line).place
            detail = f"{place} {fault.detail}" if fault.column is None else f"{place}: `{fault.column}` {fault.detail}"
            field = self.field if fault.column is None else f"{self.field}.{fault.column}"
            problems = [*self.problems, InputProblem(field, detail, row)]
            self.problems = sorted(problems, key=lambda one: one.row or 0)[:MAX_SHOWN]
        places = self._places.setdefault(fault.kind, [])
        if len(places) < MAX_SHOWN:
            places.append(f"row {row}" if line is None else f"line {line}")
        self._numbers[fault.kind] += 1

    def describe(self) -> list[str]:
        """One sentence for each kind."""
        found = list[str]()
        for kind, number in self._numbers.items():
            done = "kept aside" if kind == NO_LABEL else "left out"
            places = ", ".join(self._places[kind])
            more = f" and {number - MAX_SHOWN:,} more" if number > MAX_SHOWN else ""
            found.append(f"{show_count(number, 'row')} {kind} {done} ({places}{more})")
        return found
