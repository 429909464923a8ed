"""Fixtures of the engine's tests, and evidence of random rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lab.rivals.fine_tuning.evidence import Evidence, LabelledRows, OnBatch, TuningRows
from lab.rivals.method import coreset_methods
from lab.rivals.names import CoresetConfig
from lens_engine.pipeline import select_support_examples
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.task.template import Task
from lens_engine.types import Example
from tests.unit.lens_engine.conftest import (  # noqa: F401
    make_config,
    make_examples,
    make_listener,
    make_meter,
    make_planted_problem,
    make_planted_scorer,
    make_store,
    make_task,
    task,
)

Make = Callable[..., Any]
MakeEvidence = Callable[..., Evidence]


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
        norms, correct = np.ones(len(pool)), np.ones((5, len(pool)), dtype=np.bool_)
        return Evidence(found.groups, found.features, found.probabilities, norms, correct, others)

    def _describe(self, asked: Task, examples: Sequence[Example]) -> LabelledRows:
        groups = np.array([asked.label_indices[example.label] for example in examples], dtype=np.intp)
        quality = np.array([find_quality(example.text) for example in examples]) / 100
        features = np.stack([quality, np.ones(len(examples)), np.arange(len(examples)) % 7.0], axis=1)
        top = 1.0 - quality / 2
        return LabelledRows(groups, features, np.stack([top, 1.0 - top], axis=1))


def find_quality(text: str) -> int:
    return int(text.split("quality")[1].split()[0])


@pytest.fixture(scope="module")
def problem(make_planted_problem: Make) -> Problem:  # noqa: F811
    found: Problem = make_planted_problem()
    return found


@pytest.fixture(scope="module")
def select(problem: Problem, make_planted_scorer: Make, make_config: Make) -> Callable[..., SelectionResult]:  # noqa: F811
    """One selection by a coreset method, on the planted problem."""

    def run(
        method: Any, *, listener: Any = None, fine_tuner: PlantedFineTuner | None = None, **options: Any
    ) -> SelectionResult:
        config = CoresetConfig.of(make_config(**options), method)
        methods = coreset_methods(fine_tuner or PlantedFineTuner())
        return select_support_examples(problem, make_planted_scorer(), config, listener=listener, methods=methods)

    return run


@pytest.fixture(scope="session")
def quality_of() -> Callable[[str], int]:
    """The planted quality of a text."""
    return find_quality


@pytest.fixture(scope="session")
def make_fine_tuner() -> Callable[[], PlantedFineTuner]:
    return PlantedFineTuner


@pytest.fixture
def make_evidence() -> MakeEvidence:
    """Evidence of random rows; any array may be given instead."""

    def make(
        num_rows: int = 12,
        num_labels: int = 2,
        *,
        seed: int = 0,
        groups: NDArray[np.intp] | list[int] | None = None,
        features: NDArray[np.float64] | list[list[float]] | None = None,
        probabilities: NDArray[np.float64] | list[list[float]] | None = None,
        early_gradient_norms: NDArray[np.float64] | list[float] | None = None,
        correct_by_epoch: NDArray[np.bool_] | list[list[bool]] | None = None,
        validation: LabelledRows | None = None,
    ) -> Evidence:
        rng = np.random.default_rng(seed)
        num_rows = next((len(given) for given in (groups, features, probabilities) if given is not None), num_rows)

        def either(given: object, drawn: NDArray[np.float64]) -> NDArray[np.float64]:
            return drawn if given is None else np.asarray(given, dtype=np.float64)

        return Evidence(
            groups=np.arange(num_rows) % num_labels if groups is None else np.asarray(groups, dtype=np.intp),
            features=either(features, rng.normal(size=(num_rows, 3))),
            probabilities=either(probabilities, rng.dirichlet(np.ones(num_labels), num_rows)),
            early_gradient_norms=either(early_gradient_norms, rng.random(num_rows)),
            correct_by_epoch=np.asarray(
                rng.random((5, num_rows)) < 0.7 if correct_by_epoch is None else correct_by_epoch, dtype=np.bool_
            ),
            validation=validation,
        )

    return make
