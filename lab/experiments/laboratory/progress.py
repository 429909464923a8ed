"""Progress of an experiment: a line for every computed cell."""

from collections.abc import Callable
from dataclasses import dataclass

from lab.experiments.laboratory.cells import Cell


def _ignore(_line: str) -> None:
    pass


@dataclass
class Progress:
    """Writes a numbered line for each computed cell; cells from the store are counted in one line.

    `total` is the number of all cells, if it is known.
    """

    write: Callable[[str], None] = _ignore
    total: int | None = None
    computed: int = 0
    recalled: int = 0

    @property
    def done(self) -> int:
        return self.computed + self.recalled

    def on_computed(self, cell: Cell, title: str, accuracy: float | None, seconds: float) -> None:
        """`title` is the name of the cell in its table; an accuracy of None is that of a run without test rows."""
        if not self.computed and self.recalled:
            self.write(f"{self.recalled} cells were computed before")
        self.computed += 1
        number = f"{self.done}" if self.total is None else f"{self.done}/{self.total}"
        reached = "" if accuracy is None else f"  {accuracy:.3f}"
        where = f"{cell.bench.dataset} seed {cell.bench.seed}"
        self.write(f"{number}  {where} {title}{reached}  ({seconds:.0f} s)")
