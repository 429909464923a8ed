from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from lab.rivals.evidence import Evidence, LabelledRows
from lab.rivals.glister import glister, step_size
from lens_engine.errors import InvalidConfig

MakeEvidence = Callable[..., Evidence]
Matrix = NDArray[np.float64]


def classified(features: Matrix, groups: NDArray[np.intp], layer: Matrix) -> LabelledRows:
    return LabelledRows(groups, features, softmax(features @ layer.T, axis=1))


@pytest.fixture
def make_trained(make_evidence: MakeEvidence) -> Callable[[int], tuple[Evidence, Matrix]]:
    """A pool of 12 and 9 validation rows of 3 labels under one final layer `[labels, size]`."""

    def make(seed: int) -> tuple[Evidence, Matrix]:
        rng = np.random.default_rng(seed)
        layer = rng.normal(size=(3, 4))
        pool = classified(rng.normal(size=(12, 4)), np.arange(12) % 3, layer)
        validation = classified(rng.normal(size=(9, 4)), rng.integers(3, size=9), layer)
        evidence = make_evidence(
            groups=pool.groups, features=pool.features, probabilities=pool.probabilities, validation=validation
        )
        return evidence, layer

    return make


def validation_loss(evidence: Evidence, layer: Matrix) -> float:
    rows = evidence.validation
    assert rows is not None
    log_probs = log_softmax(rows.features @ layer.T, axis=1)
    return -float(log_probs[np.arange(len(rows)), rows.groups].mean())


def gradient_of(evidence: Evidence, row: int) -> Matrix:
    return np.outer(evidence.gradients.residuals[row], evidence.gradients.features[row])


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("quotas", [(1, 3, 2), (2, 0, 3)])
def test_groups_are_descended_together_until_each_is_full(
    make_trained: Callable[[int], tuple[Evidence, Matrix]], quotas: tuple[int, ...], seed: int
) -> None:
    """The order of picks is that of the descent, not of the groups, and a full group's rows are passed over.

    Validation rows of all labels count, also of a label without a quota.
    """
    evidence, layer = make_trained(seed)
    left = list(quotas)
    expected: list[int] = []
    while any(left):
        rows = [row for row in range(12) if row not in expected and left[row % 3]]
        losses = {row: validation_loss(evidence, layer - 1e-5 * gradient_of(evidence, row)) for row in rows}
        expected.append(min(losses, key=lambda row: losses[row]))
        left[expected[-1] % 3] -= 1
        layer = layer - step_size(evidence.features) * gradient_of(evidence, expected[-1])

    assert glister(evidence, quotas) == expected


def test_without_validation_rows_it_is_refused(make_evidence: MakeEvidence) -> None:
    with pytest.raises(InvalidConfig, match="glister chooses by validation rows") as caught:
        glister(make_evidence(), (1, 1))
    assert caught.value.field == "options.search.validation"
