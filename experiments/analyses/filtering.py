"""Does InfoScore tell which examples help? Random permutations of the worst, of any and of the best; and the search.

As Li & Qiu (2023) compare them. Candidates are ranked by their InfoScore on the whole score set of a selection.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from experiments.analyses.analysis import FOUR_SEEDS, ONE_SELECTION, ByScale, Comparison, Prompts
from experiments.analyses.example_sets import ExampleSet, as_set, draw_random_sets, evaluate_sets, support_set
from experiments.laboratory.cells import SelectionCell
from experiments.laboratory.laboratory import Laboratory
from lens_engine.classifier.quality import Accuracy
from lens_engine.methods.lens.filtering import Filter
from lens_engine.methods.permutations import draw_permutation
from lens_engine.randomness import make_generator
from lens_engine.types import Example, FloatArray

LEAST, ANY, MOST, SEARCHED = "least informative", "random", "most informative", "with search"
"""The pools that permutations are drawn from."""


@dataclass(frozen=True)
class Filtering(Comparison):
    """Random permutations of the least and of the most informative candidates and of all, and the support examples."""

    permutations: int = 10  #: of each pool, for each selection
    share: float = 0.125  #: of the candidates, in the pool of the most and in that of the least informative ones

    name: ClassVar[str] = "filtering"
    question: ClassVar[str] = "Do informative examples help, and what does the search add?"
    key_columns: ClassVar[tuple[str, ...]] = ("drawn from",)
    scales: ClassVar[ByScale] = {"laptop": ONE_SELECTION, "paper": FOUR_SEEDS}
    sizes: ClassVar[ByScale] = {"tiny": {"permutations": 2, "share": 0.5}}

    def compute(self, lab: Laboratory) -> list[Prompts]:
        return [one for dataset, cells in self.by_dataset.items() for one in self._judge(lab, dataset, cells)]

    def describe(self, found: list[Prompts]) -> str:  # noqa: ARG002
        share = f"{100 * self.share:.3g} %"
        return (
            f"{self.origin} For each selection {self.permutations} random permutations from the {share} of its "
            f"candidates with the lowest InfoScore, from all of them, and from the {share} with the highest, label by "
            "label; and the support examples that the search found. The sd is over the prompts."
        )

    def _judge(self, lab: Laboratory, dataset: str, cells: list[SelectionCell]) -> Iterator[Prompts]:
        pools: dict[str, list[Accuracy]] = {pool: [] for pool in (LEAST, ANY, MOST, SEARCHED)}
        for cell in cells:
            for pool, sets in self._find_sets(lab, cell).items():
                pools[pool] += evaluate_sets(lab, cell, sets, pool)
        for pool, accuracies in pools.items():
            yield Prompts(dataset, (pool,), tuple(accuracies))

    def _find_sets(self, lab: Laboratory, cell: SelectionCell) -> dict[str, list[ExampleSet]]:
        support = support_set(lab.select(cell))
        least, most = self._find_pools(lab, cell)
        return {
            LEAST: _draw(lab, cell, least, self.permutations),
            ANY: draw_random_sets(lab, cell, self.permutations),
            MOST: _draw(lab, cell, most, self.permutations),
            SEARCHED: [support],
        }

    def _find_pools(self, lab: Laboratory, cell: SelectionCell) -> tuple[list[Example], list[Example]]:
        config, rows, task = cell.config, lab.rows(cell), lab.problem(cell).task
        scores = np.array(lab.info_scores(cell.bench.info_scores(config)).scores)
        stage = Filter(task, rows.candidates, rows.score_set, config.filtering, config.balanced)
        keep = max(round(self.share * len(rows.candidates)), 2 * config.num_demonstrations)
        return least_and_most(rows.candidates, scores, stage, keep)


def least_and_most(
    candidates: Sequence[Example], scores: FloatArray, stage: Filter, keep: int
) -> tuple[list[Example], list[Example]]:
    """The `keep` candidates with the lowest score and the `keep` with the highest, label-balanced as the selection."""
    everyone = np.arange(len(candidates))
    least, most = stage.rank(everyone, -scores, keep), stage.rank(everyone, scores, keep)
    return [candidates[index] for index in least], [candidates[index] for index in most]


def _draw(lab: Laboratory, cell: SelectionCell, pool: list[Example], count: int) -> list[ExampleSet]:
    """Random permutations of a pool, label-balanced as the selection."""
    groups, quotas = lab.rows(cell).quotas.group(lab.problem(cell).task.index_labels(pool))
    generators = [make_generator(cell.config.seed, "experiments.filtering", index) for index in range(count)]
    return [as_set([pool[index] for index in draw_permutation(groups, quotas, rng)]) for rng in generators]
