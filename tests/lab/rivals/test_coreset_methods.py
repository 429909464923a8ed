"""What every method promises."""

from collections.abc import Callable

import numpy as np
import pytest

from lab.rivals.fine_tuning.evidence import Evidence, LabelledRows
from lab.rivals.geometry import k_center
from lab.rivals.method import SELECTORS, Select
from lab.rivals.names import CoresetMethod

MakeEvidence = Callable[..., Evidence]


def choose_k_centers(evidence: Evidence, quotas: tuple[int, ...]) -> list[int]:
    return k_center(evidence, quotas, np.random.default_rng(0))


ALL: dict[CoresetMethod, Select] = {**SELECTORS, "k_center": choose_k_centers}
EVERY = pytest.mark.parametrize("select", ALL.values(), ids=ALL)


@pytest.fixture
def evidence(make_evidence: MakeEvidence) -> Evidence:
    """Twelve rows of three labels, and as many validation rows."""
    others = make_evidence(12, 3, seed=1)
    validation = LabelledRows(others.groups, others.features, others.probabilities)
    return make_evidence(12, 3, validation=validation)


@EVERY
@pytest.mark.parametrize("quotas", [(2, 2, 2), (1, 0, 4), (4, 4, 4)])
def test_quotas_are_filled_exactly(evidence: Evidence, select: Select, quotas: tuple[int, ...]) -> None:
    chosen = select(evidence, quotas)

    assert len(set(chosen)) == len(chosen)
    assert np.bincount(evidence.groups[chosen], minlength=3).tolist() == list(quotas)


@EVERY
def test_one_quota_chooses_from_the_whole_pool(evidence: Evidence, select: Select) -> None:
    assert sorted(select(evidence, (12,))) == list(range(12))
    assert len(set(select(evidence, (5,)))) == 5


@EVERY
def test_smaller_quota_chooses_the_first_of_a_larger_one(evidence: Evidence, select: Select) -> None:
    assert select(evidence, (3,)) == select(evidence, (6,))[:3]


@pytest.mark.parametrize("name", SELECTORS)
def test_rows_that_are_all_alike_are_taken_in_order(make_evidence: MakeEvidence, name: CoresetMethod) -> None:
    alike = {"features": [[1.0, 2.0]] * 6, "probabilities": [[0.7, 0.3]] * 6, "groups": [0] * 6}
    rows = make_evidence(**alike)
    evidence = make_evidence(
        **alike,
        early_gradient_norms=[1.0] * 6,
        correct_by_epoch=[[True] * 6],
        validation=LabelledRows(rows.groups, rows.features, rows.probabilities),
    )

    assert SELECTORS[name](evidence, (3,)) == [0, 1, 2]
