"""Fixtures of the engine's tests, and evidence of random rows."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from lens_engine.language_model.fine_tuning.evidence import Evidence, LabelledRows
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
from tests.unit.lens_engine.methods.conftest import make_fine_tuner, problem, quality_of, select  # noqa: F401

MakeEvidence = Callable[..., Evidence]


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
        early_gradient_norms: NDArray[np.float64] | list[list[float]] | None = None,
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
            early_gradient_norms=either(early_gradient_norms, rng.random((2, num_rows))),
            correct_by_epoch=np.asarray(
                rng.random((5, num_rows)) < 0.7 if correct_by_epoch is None else correct_by_epoch, dtype=np.bool_
            ),
            dtype="float32",
            validation=validation,
        )

    return make
