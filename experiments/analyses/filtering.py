"""Does InfoScore tell which examples help? Random permutations of the worst, of any and of the best; and the search.

As Li & Qiu (2023) compare them. Candidates are ranked by their InfoScore on the whole score set of a selection.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.analyses.captions import datasets_of, describe_cells, describe_rows, title_panel
from experiments.analyses.example_sets import ExampleSet, as_set, draw_random_sets, evaluate_sets, support_set
from experiments.findings.finding import Finding, Table
from experiments.findings.spreads import SPREAD_COLUMNS, show_rows, spread_values
from experiments.laboratory.cells import SelectionCell
from experiments.laboratory.laboratory import Laboratory
from experiments.plots.strips import RANDOM, SUPPORT, Group, Panel, plot_strips
from lens_engine.methods.lens.filtering import Filter
from lens_engine.methods.permutations import draw_permutation, group_by_label
from lens_engine.randomness import make_generator
from lens_engine.result import Accuracy
from lens_engine.types import Example, FloatArray

TITLE = "Do informative examples help, and what does the search add?"
LEAST, ANY, MOST, SEARCHED = "least informative", "random", "most informative", "with search"
_KINDS = {LEAST: "least informative", ANY: RANDOM, MOST: "most informative", SEARCHED: SUPPORT}
"""Where permutations are drawn from, and the name of its colour."""


@dataclass(frozen=True, slots=True)
class FilteringPlan:
    """From the candidates of each selection, `permutations` random ones of each pool."""

    selections: tuple[SelectionCell, ...]
    permutations: int = 10
    share: float = 0.125  #: of the candidates that are the most, or the least, informative ones


@dataclass(frozen=True, slots=True)
class Drawn:
    """The permutations of one pool on one dataset, over all its seeds."""

    dataset: str
    pool: str
    accuracies: tuple[Accuracy, ...]

    def as_group(self) -> Group:
        return Group(self.pool, _KINDS[self.pool], tuple(one.accuracy for one in self.accuracies))


def run(lab: Laboratory, plan: FilteringPlan) -> Finding:
    """Judge random permutations of each pool, and the support examples, on the test rows.

    Raises:
        LensError: as `Laboratory.select`, `Laboratory.evaluate` and `Laboratory.info_scores`.
    """
    found = [one for name, cells in datasets_of(plan.selections).items() for one in _measure(lab, name, cells, plan)]
    every = [accuracy for one in found for accuracy in one.accuracies]
    share = f"{100 * plan.share:.3g} %"
    panels = [_panel(dataset, cells, found) for dataset, cells in datasets_of(plan.selections).items()]
    return Finding(
        name="filtering",
        title=TITLE,
        tables=(_table(found),),
        plots=(plot_strips(TITLE, panels, f"accuracy on {show_rows(every)} test rows"),),
        notes=(
            f"Support examples found with {describe_cells(plan.selections)}. "
            f"For each selection {plan.permutations} random permutations from the "
            f"{share} of its candidates with the lowest InfoScore, from all of them, and from the "
            f"{share} with the highest, label by label; and the support examples that the search found. A dot "
            "is a prompt; whiskers and sd are over the prompts.",
            describe_rows(every),
        ),
    )


def least_and_most(
    candidates: Sequence[Example], scores: FloatArray, stage: Filter, keep: int
) -> tuple[list[Example], list[Example]]:
    """The `keep` candidates of the lowest and of the highest score, label-balanced as the selection is."""
    everyone = np.arange(len(candidates))
    least, most = stage.rank(everyone, -scores, keep), stage.rank(everyone, scores, keep)
    return [candidates[index] for index in least], [candidates[index] for index in most]


def _measure(lab: Laboratory, dataset: str, cells: list[SelectionCell], plan: FilteringPlan) -> list[Drawn]:
    pools: dict[str, list[Accuracy]] = {pool: [] for pool in _KINDS}
    for cell in cells:
        for pool, sets in _find_sets(lab, cell, plan).items():
            pools[pool] += evaluate_sets(lab, cell, sets, pool)
    return [Drawn(dataset, pool, tuple(accuracies)) for pool, accuracies in pools.items()]


def _find_sets(lab: Laboratory, cell: SelectionCell, plan: FilteringPlan) -> dict[str, list[ExampleSet]]:
    support = support_set(lab.select(cell))
    least, most = _find_pools(lab, cell, plan.share)
    return {
        LEAST: _draw(lab, cell, least, plan.permutations),
        ANY: draw_random_sets(lab, cell, plan.permutations),
        MOST: _draw(lab, cell, most, plan.permutations),
        SEARCHED: [support],
    }


def _find_pools(lab: Laboratory, cell: SelectionCell, share: float) -> tuple[list[Example], list[Example]]:
    config, rows, task = cell.config, lab.rows(cell), lab.problem(cell).task
    scores = np.array(lab.info_scores(cell.bench.info_scores(config)).scores)
    stage = Filter(task, rows.candidates, rows.score_set, config.filtering, config.balanced)
    keep = max(round(share * len(rows.candidates)), 2 * config.num_demonstrations)
    return least_and_most(rows.candidates, scores, stage, keep)


def _draw(lab: Laboratory, cell: SelectionCell, pool: list[Example], count: int) -> list[ExampleSet]:
    """Random permutations of a pool, label-balanced as the selection is."""
    groups, quotas = group_by_label(pool, lab.problem(cell).task, cell.config)
    generators = [make_generator(cell.config.seed, "experiments.filtering", index) for index in range(count)]
    return [as_set([pool[index] for index in draw_permutation(groups, quotas, rng)]) for rng in generators]


def _table(found: list[Drawn]) -> Table:
    rows = tuple((one.dataset, one.pool, *spread_values(one.accuracies)) for one in found)
    return Table(("dataset", "drawn from", *SPREAD_COLUMNS), rows)


def _panel(dataset: str, cells: list[SelectionCell], found: list[Drawn]) -> Panel:
    groups = tuple(one.as_group() for one in found if one.dataset == dataset)
    return Panel(title_panel(dataset, cells), "where the demonstrations are drawn from", groups)
