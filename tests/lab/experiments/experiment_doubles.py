"""The paper's table without a language model: small datasets, a scorer that answers from a table, and a small size."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lab.experiments.cells import Cells
from lab.experiments.datasets import Dataset, TaskSettings
from lab.experiments.sizes import Bench, Size
from lab.rivals.evidence import Evidence, LabelledRows
from lens_engine.prompt.template import Task
from lens_engine.testing import TableScorer
from lens_engine.types import Example

TINY = Size(
    note="A size for tests.",
    model="table",
    datasets=("reviews", "news"),
    seeds=(0, 1),
    preset="quick",
    options={
        "rows": {"test": 20},
        "filtering": {"candidates": 24, "keep": 16, "rounds": 1, "initial_score_size": 4, "max_score_size": 4},
        "search": {
            "validation": 8,
            "beam_width": 2,
            "children": 2,
            "iterations": 1,
            "first_permutations": 6,
            "halvings": 1,
        },
    },
    many_rows=(12, 4),
)
BENCH = Bench("reviews", "{text} It was {label}.", 3)


def make_dataset(name: str = "reviews", rows: int = 160, test_rows: int = 24) -> Dataset:
    settings = TaskSettings(
        words={"positive": "great", "negative": "terrible"},
        templates=("{text} It was {label}.", "{text} A {label} one."),
        num_demonstrations=4,
    )
    labels = tuple(settings.words)
    train = tuple(Example(row, f"{name} {row}", labels[row % 2]) for row in range(rows))
    test = tuple(Example(row, f"unseen {name} {row}", labels[row % 2]) for row in range(test_rows))
    return Dataset(name, settings, train, test)


class RandomEvidence:
    """Fine-tuning is a die."""

    def __init__(self) -> None:
        self.seeds: list[int] = []

    def __call__(self, task: Task, pool: Sequence[Example], validation: Sequence[Example], seed: int) -> Evidence:
        self.seeds.append(seed)
        rng = np.random.default_rng(seed)

        def describe(examples: Sequence[Example]) -> LabelledRows:
            probabilities = rng.dirichlet(np.ones(len(task.labels)), size=len(examples))
            return LabelledRows(task.index_labels(examples), rng.normal(size=(len(examples), 3)), probabilities)

        found, correct = describe(pool), rng.random((5, len(pool))) < 0.5
        return Evidence(
            found.groups, found.features, found.probabilities, rng.random(len(pool)), correct, describe(validation)
        )


def make_cells(folder: Path, scorer: Any = None, **given: Any) -> Cells:
    """Cells over the same folder each time, as if the process had been started again."""
    usual = {"size": TINY, "fine_tune": RandomEvidence(), "say": lambda _: None, "find_dataset": make_dataset}
    return Cells(folder=folder, open_scorer=lambda: scorer or TableScorer(), **{**usual, **given})
