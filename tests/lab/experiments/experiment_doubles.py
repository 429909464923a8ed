"""A laboratory without a language model: a small dataset, and scorers that answer from a table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lab.experiments.data.tasks import Dataset, TaskSettings
from lab.experiments.laboratory.cells import Cell
from lab.experiments.laboratory.laboratory import Laboratory
from lab.rivals.fine_tuning.evidence import Evidence, FineTuner, LabelledRows, OnBatch, TuningRows
from lens_engine.errors import InvalidDataset
from lens_engine.scoring.base import LabelScorer
from lens_engine.task.template import Task
from lens_engine.testing import TableScorer
from lens_engine.types import Example

TINY: dict[str, Any] = {
    "num_demonstrations": 4,
    "splits": {"validation": 8, "confirmation": 8, "test": 20},
    "filtering": {"candidates": 24, "keep": 12, "rounds": 1, "initial_score_size": 4, "max_score_size": 4},
    "search": {"beam_width": 2, "children": 2, "iterations": 1, "first_permutations": None, "halvings": 0},
    "comparisons": "none",
}
"""Options of a selection of a hundredth of a second."""


class Killed(BaseException):
    """What `kill -9` looks like from within: nothing catches it."""


@dataclass
class TableModels:
    """Models without weights: every reference is a `TableScorer` of this name, and fine-tuning is a die."""

    make: Callable[[str], LabelScorer] = field(default=lambda reference: TableScorer(name=reference))
    loaded: list[str] = field(default_factory=list)  #: references, in the order in which they were loaded
    tunings: int = 0
    _scorers: dict[str, LabelScorer] = field(default_factory=dict)

    def open(self, reference: str, dtype: str) -> LabelScorer:  # noqa: ARG002
        if reference not in self._scorers:
            self.loaded.append(reference)
            self._scorers[reference] = self.make(reference)
        return self._scorers[reference]

    def fine_tuner(self, reference: str) -> FineTuner:  # noqa: ARG002
        return self

    def __call__(self, rows: TuningRows, on_batch: OnBatch) -> Evidence:  # noqa: ARG002
        self.tunings += 1
        task, pool, rng = rows.task, rows.pool, np.random.default_rng(rows.seed)
        size, labels = (len(pool), 3), len(task.labels)
        return Evidence(
            np.array([task.label_indices[example.label] for example in pool], dtype=np.intp),
            rng.normal(size=size),
            rng.dirichlet(np.ones(labels), size=len(pool)),
            early_gradient_norms=rng.random(len(pool)),
            correct_by_epoch=rng.random((5, len(pool))) < 0.5,
            validation=make_evidence_rows(task, rows.validation, rng) if rows.validation else None,
        )


def make_evidence_rows(task: Task, examples: Sequence[Example], rng: np.random.Generator) -> LabelledRows:
    groups = np.array([task.label_indices[example.label] for example in examples], dtype=np.intp)
    probabilities = rng.dirichlet(np.ones(len(task.labels)), size=len(examples))
    return LabelledRows(groups, rng.normal(size=(len(examples), 3)), probabilities)


def make_dataset(name: str = "reviews", rows: int = 80, test_rows: int = 24) -> Dataset:
    settings = TaskSettings(
        words={"positive": "great", "negative": "terrible"},
        templates=("{text} It was {label}.", "{text} A {label} one."),
        num_demonstrations=4,
    )
    labels = tuple(settings.words)
    train = tuple(Example(row, f"{name} {row}", labels[row % 2]) for row in range(rows))
    test = tuple(Example(row, f"unseen {name} {row}", labels[row % 2]) for row in range(test_rows))
    return Dataset(name, settings, train, test)


class FixedDatasets:
    """These datasets and no others."""

    def __init__(self, *datasets: Dataset) -> None:
        self.datasets = {dataset.name: dataset for dataset in datasets}

    def find(self, name: str) -> Dataset:
        if name not in self.datasets:
            raise InvalidDataset(f"no {name}", field="datasets")
        return self.datasets[name]


def is_stored(laboratory: Laboratory, cell: Cell) -> bool:
    return laboratory.store.load(laboratory.key(cell)) is not None
