"""Do the labels of the demonstrations have to be right? Gold against random labels, as Li & Qiu (2023) compare them."""

from dataclasses import dataclass

from experiments.analyses.captions import datasets_of, describe_cells, describe_rows, title_panel
from experiments.analyses.example_sets import ExampleSet, draw_random_sets, evaluate_sets, relabel, support_set
from experiments.findings.finding import Finding, Table
from experiments.findings.spreads import SPREAD_COLUMNS, show_rows, spread_values
from experiments.laboratory.cells import SelectionCell
from experiments.laboratory.laboratory import Laboratory
from experiments.plots.strips import RANDOM, SUPPORT, Group, Panel, plot_strips
from lens_engine.result import Accuracy

TITLE = "Do the demonstrations need their right labels?"
GOLD, DRAWN = "gold labels", "random labels"


@dataclass(frozen=True, slots=True)
class LabelsPlan:
    """Each selection gives a set of support examples, and its candidates `random_sets` random ones."""

    selections: tuple[SelectionCell, ...]
    random_sets: int = 4
    labellings: int = 4  #: with random labels, for each set


@dataclass(frozen=True, slots=True)
class Labelled:
    """The sets of one kind on one dataset, over all its seeds."""

    dataset: str
    kind: str
    labels: str
    accuracies: tuple[Accuracy, ...]

    def as_group(self) -> Group:
        kind = self.kind.removesuffix(" examples")
        return Group(f"{kind}, {self.labels}", self.kind, tuple(one.accuracy for one in self.accuracies))


def run(lab: Laboratory, plan: LabelsPlan) -> Finding:
    """Judge every set with its gold labels, and with labels drawn evenly from all.

    Raises:
        LensError: as `Laboratory.select` and `Laboratory.evaluate`.
    """
    found = [one for name, cells in datasets_of(plan.selections).items() for one in _measure(lab, name, cells, plan)]
    every = [accuracy for one in found for accuracy in one.accuracies]
    panels = [_panel(dataset, cells, found) for dataset, cells in datasets_of(plan.selections).items()]
    return Finding(
        name="labels",
        title=TITLE,
        tables=(_table(found),),
        plots=(plot_strips(TITLE, panels, f"accuracy on {show_rows(every)} test rows"),),
        notes=(
            f"Support examples found with {describe_cells(plan.selections)}. "
            f"For each selection its support examples and {plan.random_sets} random "
            f"sets of the same candidates; each set with its gold labels, and {plan.labellings} times with a label "
            "drawn evenly from all labels for each text, so that some stay right by chance. A dot is a prompt; "
            "whiskers and sd are over the prompts.",
            describe_rows(every),
        ),
    )


def _measure(lab: Laboratory, dataset: str, cells: list[SelectionCell], plan: LabelsPlan) -> list[Labelled]:
    sets = {
        SUPPORT: [(cell, support_set(lab.select(cell))) for cell in cells],
        RANDOM: [(cell, one) for cell in cells for one in draw_random_sets(lab, cell, plan.random_sets)],
    }
    found = list[Labelled]()
    for kind, those in sets.items():
        gold = [accuracy for cell, one in those for accuracy in evaluate_sets(lab, cell, [one], f"{kind}, {GOLD}")]
        drawn = [accuracy for cell, one in those for accuracy in _evaluate_drawn(lab, cell, one, kind, plan.labellings)]
        found += [Labelled(dataset, kind, GOLD, tuple(gold)), Labelled(dataset, kind, DRAWN, tuple(drawn))]
    return found


def _evaluate_drawn(
    lab: Laboratory, cell: SelectionCell, examples: ExampleSet, kind: str, labellings: int
) -> tuple[Accuracy, ...]:
    labels = lab.problem(cell).task.labels
    return evaluate_sets(lab, cell, relabel(examples, labels, cell.bench.seed, labellings), f"{kind}, {DRAWN}")


def _table(found: list[Labelled]) -> Table:
    rows = tuple((one.dataset, one.kind, one.labels, *spread_values(one.accuracies)) for one in found)
    return Table(("dataset", "examples", "labels", *SPREAD_COLUMNS), rows)


def _panel(dataset: str, cells: list[SelectionCell], found: list[Labelled]) -> Panel:
    groups = tuple(one.as_group() for one in found if one.dataset == dataset)
    return Panel(title_panel(dataset, cells), "examples and their labels", groups)
