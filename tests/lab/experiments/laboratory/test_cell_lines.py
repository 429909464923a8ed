from collections.abc import Callable

import pytest

from lab.experiments.laboratory.cells import Bench, SelectionCell
from lab.experiments.laboratory.progress import Progress
from lens_engine.config import SelectionConfig


@pytest.fixture
def cell(bench: Bench, make_tiny: Callable[..., SelectionConfig]) -> SelectionCell:
    return bench.selection(make_tiny())


def test_every_computed_cell_has_a_line(cell: SelectionCell) -> None:
    lines = list[str]()
    progress = Progress(lines.append, total=90)
    progress.on_computed(cell, "herding", 0.7234, 34.2)
    progress.on_computed(cell, "cut short", None, 0.4)
    assert lines == ["1/90  reviews seed 3 herding  0.723  (34 s)", "2/90  reviews seed 3 cut short  (0 s)"]


def test_cells_of_before_are_counted_in_one_line(cell: SelectionCell) -> None:
    lines = list[str]()
    progress = Progress(lines.append)
    progress.recalled = 3
    progress.on_computed(cell, "LENS", 0.5, 1.0)
    progress.on_computed(cell, "LENS", 0.5, 1.0)
    assert lines[0] == "3 cells were computed before"
    assert [line.split()[0] for line in lines[1:]] == ["4", "5"]
