"""Progress of an experiment: observers that are told of every finished cell."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from experiments.laboratory.cells import Cell

Write = Callable[[str], None]


class Observer(Protocol):
    """Is told of every finished cell. `title` is the name of the cell in its table."""

    def on_computed(self, cell: Cell, title: str, accuracy: float | None, seconds: float) -> None: ...

    def on_recalled(self, cell: Cell, title: str) -> None:
        """The cell was in the store."""
        ...


class SilentObserver:
    """Ignores every cell."""

    def on_computed(self, cell: Cell, title: str, accuracy: float | None, seconds: float) -> None:
        pass

    def on_recalled(self, cell: Cell, title: str) -> None:
        pass


@dataclass
class LineObserver:
    """Writes a numbered line for each computed cell; cells from the store are counted in one line.

    `total` is the number of all cells, if it is known.
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
