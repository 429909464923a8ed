"""What every method promises."""

from collections.abc import Callable
from typing import get_args

import numpy as np
import pytest
from lens_engine.methods.coreset.selectors import CoresetMethod

from lens_engine.language_model.fine_tuning.evidence import Evidence, LabelledRows
from lens_engine.methods.coreset.method import SELECTORS, Select

MakeEvidence = Callable[..., Evidence]

EVERY = pytest.mark.parametrize("select", SELECTORS.values(), ids=SELECTORS)


@pytest.fixture
def evidence(make_evidence: MakeEvidence) -> Evidence:
    """Twelve rows of three labels, and as many validation rows."""
    others = make_evidence(12, 3, seed=1)
    validation = LabelledRows(others.groups, others.features, others.probabilities)
    return make_evidence(12, 3, validation=validation)


def test_every_method_name_has_its_selector() -> None:
    assert set(SELECTORS) == set(get_args(CoresetMethod))


@EVERY
@pytest.mark.parametrize("quotas", [(2, 2, 2), (1, 0, 4), (4, 4, 4)])
def test_quotas_are_met_to_the_letter(evidence: Evidence, select: Select, quotas: tuple[int, ...]) -> None:
    chosen = select(evidence, quotas, np.random.default_rng(0))

    assert len(set(chosen)) == len(chosen)
    assert np.bincount(evidence.groups[chosen], minlength=3).tolist() == list(quotas)


@EVERY
def test_one_quota_chooses_from_the_whole_pool(evidence: Evidence, select: Select) -> None:
    assert sorted(select(evidence, (12,), np.random.default_rng(0))) == list(range(12))
    assert len(set(select(evidence, (5,), np.random.default_rng(0)))) == 5


@EVERY
def test_equal_generators_give_equal_choices_of_plain_integers(evidence: Evidence, select: Select) -> None:
    chosen = select(evidence, (2, 2, 2), np.random.default_rng(3))

    assert chosen == select(evidence, (2, 2, 2), np.random.default_rng(3))
    assert all(type(row) is int for row in chosen)


@EVERY
def test_smaller_quota_chooses_the_first_of_a_larger_one(evidence: Evidence, select: Select) -> None:
    assert select(evidence, (3,), np.random.default_rng(0)) == select(evidence, (6,), np.random.default_rng(0))[:3]


@pytest.mark.parametrize("name", [name for name in SELECTORS if name != "k_center"])
def test_rows_that_are_all_alike_are_taken_in_order(make_evidence: MakeEvidence, name: CoresetMethod) -> None:
    alike = {"features": [[1.0, 2.0]] * 6, "probabilities": [[0.7, 0.3]] * 6, "groups": [0] * 6}
    rows = make_evidence(**alike)
    evidence = make_evidence(
        **alike,
        early_gradient_norms=[[1.0] * 6],
        correct_by_epoch=[[True] * 6],
        validation=LabelledRows(rows.groups, rows.features, rows.probabilities),
    )

    assert SELECTORS[name](evidence, (3,), np.random.default_rng(0)) == [0, 1, 2]


@EVERY
def test_quota_above_a_groups_size_is_refused(evidence: Evidence, select: Select) -> None:
    with pytest.raises(ValueError, match="quota of group 2 is 5, but it has 4 rows"):
        select(evidence, (1, 1, 5), np.random.default_rng(0))
