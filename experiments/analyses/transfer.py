"""Are support examples found with one language model good for others? As Li & Qiu (2023) ask."""

from collections.abc import Iterator
from dataclasses import dataclass

from experiments.analyses.captions import datasets_of, describe_cells, describe_rows, name_model, title_panel
from experiments.analyses.example_sets import ExampleSet, draw_random_sets, evaluate_sets, support_set
from experiments.findings.finding import Finding, Table
from experiments.findings.spreads import SPREAD_COLUMNS, show_rows, spread_values
from experiments.laboratory.cells import SelectionCell
from experiments.laboratory.laboratory import Laboratory
from experiments.plots.strips import RANDOM, SUPPORT, Group, Panel, plot_strips
from lens_engine.result import Accuracy

TITLE = "Do support examples found with one language model serve others?"


@dataclass(frozen=True, slots=True)
class TransferPlan:
    """Support examples of the selections, all found with one model, are judged with it and with each of `models`."""

    selections: tuple[SelectionCell, ...]
    models: tuple[str, ...]
    random_sets: int = 4

    def __post_init__(self) -> None:
        if len({cell.bench.model for cell in self.selections}) != 1:
            raise ValueError("the selections of a transfer are of one model")

    @property
    def finder(self) -> str:
        return self.selections[0].bench.model


@dataclass(frozen=True, slots=True)
class Transferred:
    """The sets of one kind on one dataset, over all its seeds, judged with one model."""

    dataset: str
    model: str
    kind: str
    accuracies: tuple[Accuracy, ...]

    def as_group(self, finder: str) -> Group:
        return Group(_name(self.model, finder), self.kind, tuple(one.accuracy for one in self.accuracies))


@dataclass(frozen=True, slots=True)
class _Sets:
    """What one selection brings along: the sets by kind."""

    cell: SelectionCell
    kinds: dict[str, list[ExampleSet]]


def run(lab: Laboratory, plan: TransferPlan) -> Finding:
    """Judge support and random examples with every model; each model is loaded once.

    Raises:
        LensError: as `Laboratory.select` and `Laboratory.evaluate`.
    """
    sets = [_find_sets(lab, cell, plan.random_sets) for cell in plan.selections]
    models = dict.fromkeys((plan.finder, *plan.models))
    found = [one for model in models for one in _judge_with(lab, model, sets)]
    every = [accuracy for one in found for accuracy in one.accuracies]
    panels = [_panel(dataset, cells, found, plan.finder) for dataset, cells in datasets_of(plan.selections).items()]
    return Finding(
        name="transfer",
        title=TITLE,
        tables=(_table(found, plan.finder),),
        plots=(plot_strips(TITLE, panels, f"accuracy on {show_rows(every)} test rows"),),
        notes=(
            f"Support examples found with {describe_cells(plan.selections)}. "
            f"The support examples of each selection, and {plan.random_sets} random "
            "sets of the same candidates for each, are judged with every model on the test rows "
            "that fit its context. A dot is a "
            "prompt; whiskers and sd are over the prompts.",
            describe_rows(every),
        ),
    )


def _find_sets(lab: Laboratory, cell: SelectionCell, random_sets: int) -> _Sets:
    support = [support_set(lab.select(cell))]
    return _Sets(cell, {SUPPORT: support, RANDOM: draw_random_sets(lab, cell, random_sets)})


def _judge_with(lab: Laboratory, model: str, sets: list[_Sets]) -> Iterator[Transferred]:
    for dataset in datasets_of([one.cell for one in sets]):
        here = [one for one in sets if one.cell.bench.dataset == dataset]
        for kind in (SUPPORT, RANDOM):
            accuracies = [accuracy for one in here for accuracy in _judge(lab, model, one, kind)]
            yield Transferred(dataset, model, kind, tuple(accuracies))


def _judge(lab: Laboratory, model: str, sets: _Sets, kind: str) -> tuple[Accuracy, ...]:
    """With this model, on the same splits."""
    cell = sets.cell.bench.model_copy(update={"model": model}).selection(sets.cell.config)
    return evaluate_sets(lab, cell, sets.kinds[kind], f"{name_model(model)}, {kind}")


def _table(found: list[Transferred], finder: str) -> Table:
    rows = tuple((one.dataset, _name(one.model, finder), one.kind, *spread_values(one.accuracies)) for one in found)
    return Table(("dataset", "judged with", "examples", *SPREAD_COLUMNS), rows)


def _panel(dataset: str, cells: list[SelectionCell], found: list[Transferred], finder: str) -> Panel:
    groups = tuple(one.as_group(finder) for one in found if one.dataset == dataset)
    return Panel(title_panel(dataset, cells), "language model that the prompts are judged with", groups)


def _name(model: str, finder: str) -> str:
    return f"{name_model(model)} (found with it)" if model == finder else name_model(model)
