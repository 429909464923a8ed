"""Are support examples found with one language model good for others? Li & Qiu (2023) ask the same."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from experiments.analyses.analysis import FOUR_SEEDS, SMALL, ByScale, Comparison, Prompts
from experiments.analyses.captions import name_model
from experiments.analyses.example_sets import RANDOM, SUPPORT, ExampleSet, draw_random_sets, evaluate_sets, support_set
from experiments.laboratory.cells import CalibratedAccuracy, SelectionCell
from experiments.laboratory.laboratory import Laboratory
from lens_engine.errors import InvalidConfig

Sets = dict[str, list[ExampleSet]]
"""Sets of one selection, by kind."""


@dataclass(frozen=True)
class Transfer(Comparison):
    """Support examples found with one model, judged with that model and with each of `models`.

    Raises:
        InvalidConfig: `models` is empty.
    """

    models: tuple[str, ...] = ()
    random_sets: int = 4  #: for each selection

    name: ClassVar[str] = "transfer"
    question: ClassVar[str] = "Do support examples found with one language model serve others?"
    key_columns: ClassVar[tuple[str, ...]] = ("judged with", "examples")
    scales: ClassVar[ByScale] = {"laptop": {"note": SMALL}, "paper": FOUR_SEEDS}
    sizes: ClassVar[ByScale] = {
        "tiny": {"random_sets": 2},
        "paper": {"models": ("openai-community/gpt2-medium", "openai-community/gpt2-xl", "EleutherAI/gpt-neo-1.3B")},
    }

    def __post_init__(self) -> None:
        if not self.models:
            raise InvalidConfig(
                "no other model was named; the support examples are judged with other models too", field="to"
            )

    @property
    def finder(self) -> str:
        """The model that the selections were made with: they are of one scale."""
        return self.selections[0].bench.model

    def compute(self, lab: Laboratory) -> list[Prompts]:
        """Each model is loaded once, and the finder first."""
        sets: dict[SelectionCell, Sets] = {
            cell: {
                SUPPORT: [support_set(lab, cell, lab.select(cell))],
                RANDOM: draw_random_sets(lab, cell, self.random_sets),
            }
            for cell in self.selections
        }
        return [one for model in dict.fromkeys((self.finder, *self.models)) for one in self._judge(lab, model, sets)]

    def describe(self, found: list[Prompts]) -> str:  # noqa: ARG002
        return (
            f"{self.origin} The support examples of each selection, and {self.random_sets} random sets of the same "
            "candidates for each, are judged with every model on the test rows that fit its context. The sd is "
            "over the prompts."
        )

    def _judge(self, lab: Laboratory, model: str, sets: dict[SelectionCell, Sets]) -> Iterator[Prompts]:
        name = f"{name_model(model)} (found with it)" if model == self.finder else name_model(model)
        for dataset, cells in self.by_dataset.items():
            for kind in (SUPPORT, RANDOM):
                accuracies = list[CalibratedAccuracy]()
                for cell in cells:  # judged on the splits of the selection
                    judged = cell.bench.model_copy(update={"model": model}).selection(cell.config)
                    accuracies += evaluate_sets(lab, judged, sets[cell][kind], f"{name_model(model)}, {kind}")
                yield Prompts(dataset, (name, kind), tuple(accuracies))
