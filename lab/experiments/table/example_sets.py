"""Sets of demonstrations whose accuracies the table shows: support examples and random ones."""

from collections.abc import Sequence

from lab.experiments.laboratory.cells import CalibratedAccuracy, Demonstration, SelectionCell
from lab.experiments.laboratory.laboratory import Laboratory
from lens_engine.result import SelectionResult, SupportExample
from lens_engine.search.permutations import draw_permutations
from lens_engine.types import Example

ExampleSet = tuple[Demonstration, ...]
"""Demonstrations in their order."""


def support_set(lab: Laboratory, cell: SelectionCell, result: SelectionResult) -> ExampleSet:
    """The examples that the method itself chose, in its order, even where another prompt is more often right."""
    own = result.answer.contenders[0]
    if own.rows == result.rows:
        return _as_set(result.examples)
    candidates = {one.row: one for one in lab.rows(cell).candidates}
    return _as_set([candidates[row] for row in own.rows])


def draw_random_sets(lab: Laboratory, cell: SelectionCell, count: int) -> list[ExampleSet]:
    """Random permutations of the candidates of a selection; they are the same as in its comparison."""
    rows, task = lab.rows(cell), lab.problem(cell).task
    permutations = draw_permutations(rows.candidates, task, rows.quotas, cell.config.seed, 0, count)
    return [_as_set([rows.candidates[index] for index in permutation]) for permutation in permutations]


def _as_set(examples: Sequence[Example | SupportExample]) -> ExampleSet:
    return tuple(Demonstration(text=example.text, label=example.label) for example in examples)


def evaluate_sets(
    lab: Laboratory, cell: SelectionCell, sets: Sequence[ExampleSet], title: str
) -> tuple[CalibratedAccuracy, ...]:
    """The accuracy of each set on the test rows of a selection, with its model."""
    cells = [cell.bench.evaluation(cell.config, one) for one in sets]
    return tuple(lab.evaluate(one, f"{title} {number}/{len(cells)}") for number, one in enumerate(cells, start=1))
