"""Sets of demonstrations that the analyses compare: support and random ones, reordered and relabelled."""

from collections.abc import Sequence

from experiments.laboratory.cells import CalibratedAccuracy, Demonstration, SelectionCell
from experiments.laboratory.laboratory import Laboratory
from lens_engine.methods.permutations import draw_permutations, shuffle
from lens_engine.randomness import make_generator
from lens_engine.result import SelectionResult, SupportExample
from lens_engine.types import Example

SUPPORT, RANDOM = "support examples", "random examples"

ExampleSet = tuple[Demonstration, ...]
"""Demonstrations in their order."""


def support_set(lab: Laboratory, cell: SelectionCell, result: SelectionResult) -> ExampleSet:
    """The examples that the method itself chose, in its order, even where another prompt is more often right."""
    own = result.answer.contenders[0]
    if own.rows == result.rows:
        return as_set(result.examples)
    candidates = {one.row: one for one in lab.rows(cell).candidates}
    return as_set([candidates[row] for row in own.rows])


def draw_random_sets(lab: Laboratory, cell: SelectionCell, count: int) -> list[ExampleSet]:
    """Random permutations of the candidates of a selection; they are the same as in its comparison."""
    rows, task = lab.rows(cell), lab.problem(cell).task
    permutations = draw_permutations(rows.candidates, task, rows.quotas, cell.config.seed, 0, count)
    return [as_set([rows.candidates[index] for index in permutation]) for permutation in permutations]


def as_set(examples: Sequence[Example | SupportExample]) -> ExampleSet:
    return tuple(Demonstration(text=example.text, label=example.label) for example in examples)


def reorder(demonstrations: ExampleSet, seed: int, count: int) -> list[ExampleSet]:
    """The same demonstrations in `count` random orders. With few demonstrations, two orders may be equal."""
    places = range(len(demonstrations))
    orders = [shuffle(places, make_generator(seed, "experiments.order", index)) for index in range(count)]
    return [tuple(demonstrations[place] for place in order) for order in orders]


def relabel(demonstrations: ExampleSet, labels: Sequence[str], seed: int, count: int) -> list[ExampleSet]:
    """The same texts in the same order, `count` times, each text with a label drawn evenly from all.

    The i-th labels for a seed are the same for every set, so that sets are compared under the same labels.
    """
    return [_relabel_once(demonstrations, labels, seed, index) for index in range(count)]


def evaluate_sets(
    lab: Laboratory, cell: SelectionCell, sets: Sequence[ExampleSet], title: str
) -> tuple[CalibratedAccuracy, ...]:
    """The accuracy of each set on the test rows of a selection, with its model."""
    cells = [cell.bench.evaluation(cell.config, one) for one in sets]
    return tuple(lab.evaluate(one, f"{title} {number}/{len(cells)}") for number, one in enumerate(cells, start=1))


def _relabel_once(demonstrations: ExampleSet, labels: Sequence[str], seed: int, index: int) -> ExampleSet:
    drawn = make_generator(seed, "experiments.labels", index).integers(len(labels), size=len(demonstrations))
    return tuple(
        Demonstration(text=one.text, label=labels[label]) for one, label in zip(demonstrations, drawn, strict=True)
    )
