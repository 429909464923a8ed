"""One selection by any method, on a planted problem."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from lens_engine.language_model.fine_tuning.evidence import Evidence, LabelledRows, OnBatch, TuningRows
from lens_engine.pipeline import select_support_examples
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.task.template import Task
from lens_engine.types import Example

Make = Callable[..., Any]


@dataclass
class PlantedFineTuner:
    """Evidence in which the least confident rows are those of the highest planted quality."""

    batches: int = 4
    asked: list[tuple[int, int, int]] = field(default_factory=list)

    def __call__(self, rows: TuningRows, on_batch: OnBatch) -> Evidence:
        pool = rows.pool
        self.asked.append((len(pool), len(rows.validation), rows.seed))
        for batch in range(self.batches):
            on_batch(batch * len(pool), self.batches * len(pool))
        found, others = self._describe(rows.task, pool), self._describe(rows.task, rows.validation)
        norms, correct = np.ones((1, len(pool))), np.ones((5, len(pool)), dtype=np.bool_)
        return Evidence(found.groups, found.features, found.probabilities, norms, correct, "float32", others)

    def _describe(self, task: Task, examples: Sequence[Example]) -> LabelledRows:
        groups = np.array([task.label_indices[example.label] for example in examples], dtype=np.intp)
        quality = np.array([find_quality(example.text) for example in examples]) / 100
        features = np.stack([quality, np.ones(len(examples)), np.arange(len(examples)) % 7.0], axis=1)
        top = 1.0 - quality / 2
        return LabelledRows(groups, features, np.stack([top, 1.0 - top], axis=1))


def find_quality(text: str) -> int:
    return int(text.split("quality")[1].split()[0])


@pytest.fixture(scope="module")
def problem(make_planted_problem: Make) -> Problem:
    found: Problem = make_planted_problem()
    return found


@pytest.fixture(scope="module")
def select(problem: Problem, make_planted_scorer: Make, make_config: Make) -> Callable[..., SelectionResult]:
    def run(
        method: str, *, listener: Any = None, checkpoints: Any = None, fine_tuner: Any = None, **options: Any
    ) -> SelectionResult:
        return select_support_examples(
            problem,
            make_planted_scorer(),
            make_config(method=method, **options),
            listener=listener,
            checkpoints=checkpoints,
            fine_tuner=fine_tuner or PlantedFineTuner(),
        )

    return run


@pytest.fixture(scope="session")
def quality_of() -> Callable[[str], int]:
    """The planted quality of a text."""
    return find_quality


@pytest.fixture(scope="session")
def make_fine_tuner() -> Callable[[], PlantedFineTuner]:
    return PlantedFineTuner
