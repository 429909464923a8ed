from collections.abc import Callable

import pytest

from experiments.laboratory.cells import Bench, SelectionCell
from experiments.laboratory.progress import LineObserver
from lens_engine.config import SelectionConfig


@pytest.fixture
def cell(bench: Bench, make_tiny: Callable[..., SelectionConfig]) -> SelectionCell:
    return bench.selection(make_tiny())


def test_every_computed_cell_has_a_line(cell: SelectionCell) -> None:
    lines = list[str]()
    observer = LineObserver(lines.append, total=90)
    observer.on_computed(cell, "herding", 0.7234, 34.2)
    observer.on_computed(cell, "cut short", None, 0.4)
    assert lines == ["1/90  reviews seed 3 herding  0.723  (34 s)", "2/90  reviews seed 3 cut short  (0 s)"]


def test_cells_of_before_are_counted_in_one_line(cell: SelectionCell) -> None:
    lines = list[str]()
    observer = LineObserver(lines.append)
    for _ in range(3):
        observer.on_recalled(cell, "herding")
    observer.on_computed(cell, "LENS", 0.5, 1.0)
    observer.on_computed(cell, "LENS", 0.5, 1.0)
    assert lines[0] == "3 cells were computed before"
    assert [line.split()[0] for line in lines[1:]] == ["4", "5"]
    assert (observer.done, observer.computed, observer.recalled) == (5, 2, 3)
