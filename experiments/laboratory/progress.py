"""A line for each cell that is computed, for who watches."""

from collections.abc import Callable
from dataclasses import dataclass

from experiments.laboratory.cells import Cell

Write = Callable[[str], None]


@dataclass
class LineObserver:
    """Numbers the cells and says what each reached; those in the store are counted, and named in one line.

    `total` is how many cells there are in all, where that is known.
    """

    write: Write
    total: int | None = None
    computed: int = 0
    recalled: int = 0

    @property
    def done(self) -> int:
        return self.computed + self.recalled

    def on_computed(self, cell: Cell, title: str, accuracy: float | None, seconds: float) -> None:
        if not self.computed and self.recalled:
            self.write(f"{self.recalled} cells were computed before")
        self.computed += 1
        reached = "" if accuracy is None else f"  {accuracy:.3f}"
        where = f"{cell.bench.dataset} seed {cell.bench.seed}"
        self.write(f"{self._number()}  {where} {title}{reached}  ({seconds:.0f} s)")

    def on_recalled(self, cell: Cell, title: str) -> None:  # noqa: ARG002
        self.recalled += 1

    def _number(self) -> str:
        return f"{self.done}" if self.total is None else f"{self.done}/{self.total}"
