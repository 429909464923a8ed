"""Do the labels of the demonstrations have to be right? Gold against random labels, as Li & Qiu (2023) compare them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from experiments.analyses.analysis import FOUR_SEEDS, SMALL, ByScale, Comparison, Prompts
from experiments.analyses.example_sets import RANDOM, SUPPORT, draw_random_sets, evaluate_sets, relabel, support_set
from experiments.laboratory.cells import CalibratedAccuracy, SelectionCell
from experiments.laboratory.laboratory import Laboratory

GOLD, DRAWN = "gold labels", "random labels"


@dataclass(frozen=True)
class Labels(Comparison):
    """Support examples and random examples, each set with its gold labels and with labels drawn evenly from all."""

    random_sets: int = 4  #: for each selection
    labellings: int = 4  #: with random labels, for each set

    name: ClassVar[str] = "labels"
    question: ClassVar[str] = "Do the demonstrations need their right labels?"
    key_columns: ClassVar[tuple[str, ...]] = ("examples", "labels")
    scales: ClassVar[ByScale] = {"laptop": {"datasets": ("sst-2",), "note": SMALL}, "paper": FOUR_SEEDS}
    sizes: ClassVar[ByScale] = {"tiny": {"random_sets": 2, "labellings": 2}}

    def compute(self, lab: Laboratory) -> list[Prompts]:
        return [one for dataset, cells in self.by_dataset.items() for one in self._judge(lab, dataset, cells)]

    def describe(self, found: list[Prompts]) -> str:  # noqa: ARG002
        return (
            f"{self.origin} For each selection its support examples and {self.random_sets} random sets of the same "
            f"candidates; each set with its gold labels, and {self.labellings} times with a label drawn evenly from "
            "all labels for each text, so that some stay right by chance. The sd is over the prompts."
        )

    def _judge(self, lab: Laboratory, dataset: str, cells: list[SelectionCell]) -> Iterator[Prompts]:
        sets = {
            SUPPORT: [(cell, support_set(lab, cell, lab.select(cell))) for cell in cells],
            RANDOM: [(cell, one) for cell in cells for one in draw_random_sets(lab, cell, self.random_sets)],
        }
        for kind, those in sets.items():
            gold, drawn = list[CalibratedAccuracy](), list[CalibratedAccuracy]()
            for cell, one in those:
                labelled = relabel(one, lab.problem(cell).task.labels, cell.bench.seed, self.labellings)
                gold += evaluate_sets(lab, cell, [one], f"{kind}, {GOLD}")
                drawn += evaluate_sets(lab, cell, labelled, f"{kind}, {DRAWN}")
            for labels, accuracies in ((GOLD, gold), (DRAWN, drawn)):
                yield Prompts(dataset, (kind, labels), tuple(accuracies))
