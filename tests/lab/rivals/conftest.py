"""Evidence of random rows; any array may be given instead."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lab.rivals.evidence import Evidence, FinalLayerGradients, LabelledRows
from tests.unit.lens_engine.conftest import make_task, task  # noqa: F401


@pytest.fixture
def make_evidence() -> Any:
    def make(
        num_rows: int = 12, num_labels: int = 2, *, seed: int = 0, validation: LabelledRows | None = None, **given: Any
    ) -> Evidence:
        rng = np.random.default_rng(seed)
        sizes = (len(given[name]) for name in ("groups", "features", "probabilities") if name in given)
        num_rows = next(sizes, num_rows)
        drawn: dict[str, NDArray[Any]] = {
            "groups": np.arange(num_rows) % num_labels,
            "features": rng.normal(size=(num_rows, 3)),
            "probabilities": rng.dirichlet(np.ones(num_labels), num_rows),
            "early_gradient_norms": rng.random(num_rows),
            "correct_by_epoch": rng.random((5, num_rows)) < 0.7,
        }
        arrays = {name: np.asarray(one, drawn[name].dtype) for name, one in given.items()}
        return Evidence(**{**drawn, **arrays}, validation=validation)

    return make


@pytest.fixture
def dense() -> Any:
    """Each gradient as a vector  # [rows, labels * size]; label by label."""

    def write(gradients: FinalLayerGradients) -> NDArray[np.float64]:
        return np.stack([np.outer(*pair).ravel() for pair in zip(gradients.residuals, gradients.features, strict=True)])

    return write


@pytest.fixture
def full_evidence(make_evidence: Any) -> Evidence:
    """Twelve rows of three labels, and as many validation rows."""
    others = make_evidence(12, 3, seed=1)
    validation = LabelledRows(others.groups, others.features, others.probabilities)
    found: Evidence = make_evidence(12, 3, validation=validation)
    return found
