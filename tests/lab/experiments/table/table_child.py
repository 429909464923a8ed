"""Computes a small table slowly, to be killed: python -m tests.lab.experiments.table.table_child FOLDER"""

import sys
import time
from pathlib import Path

from experiments.findings.writing import write
from experiments.laboratory.cells import Cell
from experiments.laboratory.laboratory import Laboratory
from experiments.laboratory.progress import SilentObserver
from experiments.laboratory.store import CellStore
from experiments.scales import TINY
from experiments.table.entries import pick_entries
from experiments.table.plan import TablePlan
from lens_engine.testing import TableScorer
from tests.lab.experiments.experiment_doubles import FixedDatasets, TableModels, make_dataset

_SECONDS_PER_CALL = 0.01


class Journal(SilentObserver):
    """Appends the title and seed of every cell that was computed."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def on_computed(self, cell: Cell, title: str, accuracy: float | None, seconds: float) -> None:  # noqa: ARG002
        with self._path.open("a") as file:
            file.write(f"{cell.bench.dataset} {cell.bench.seed} {title}\n")


def make_plan() -> TablePlan:
    scale = TINY.model_copy(update={"model": "table", "datasets": ("reviews",), "seeds": (0, 1, 2)})
    keys = ("zero_shot", "random", "random_and_validation", "lens")
    return TablePlan(scale, pick_entries(scale, keys), FixedDatasets(make_dataset("reviews")).find)


def main(folder: Path) -> None:
    plan = make_plan()
    models = TableModels(lambda _: TableScorer(before_call=lambda _: time.sleep(_SECONDS_PER_CALL)))
    lab = Laboratory(CellStore(folder / "store"), plan.find_dataset, models, Journal(folder / "journal"))
    write(plan.run(lab), folder / "output")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
