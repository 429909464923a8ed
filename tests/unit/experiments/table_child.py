"""A process that computes a small table slowly, to be killed: python -m tests.unit.experiments.table_child FOLDER"""

import sys
import time
from pathlib import Path

from experiments.cells import Cell
from experiments.entries import pick_entries
from experiments.laboratory import Laboratory, SilentObserver
from experiments.presets import TINY
from experiments.store import CellStore
from experiments.table import TablePlan, run
from experiments.writing import write
from lens_engine.testing import TableScorer
from tests.unit.experiments.experiment_doubles import FixedDatasets, TableModels, make_dataset

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
    return TablePlan(scale, pick_entries(scale, keys, {}), FixedDatasets(make_dataset("reviews")).find)


def main(folder: Path) -> None:
    plan = make_plan()
    models = TableModels(lambda _: TableScorer(before_call=lambda _: time.sleep(_SECONDS_PER_CALL)))
    lab = Laboratory(CellStore(folder / "store"), plan.find_dataset, models, Journal(folder / "journal"))
    write(run(lab, plan), folder / "output")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
