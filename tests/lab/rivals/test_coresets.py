"""What every method promises, and the methods by hardness."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lab.rivals.coresets import METHODS, SELECTORS, Select
from lab.rivals.evidence import Evidence, LabelledRows
from lab.rivals.geometry import k_center
from lab.rivals.hardness import entropy, forgetting, grand, least_confidence, margin

MakeEvidence = Callable[..., Evidence]


def choose_k_centers(evidence: Evidence, quotas: tuple[int, ...]) -> list[int]:
    return k_center(evidence, quotas, np.random.default_rng(0))


EVERY = pytest.mark.parametrize("select", [SELECTORS.get(name, choose_k_centers) for name in METHODS], ids=METHODS)


@EVERY
def test_quotas_are_filled_and_a_smaller_one_begins_alike(full_evidence: Evidence, select: Select) -> None:
    for quotas in ((2, 2, 2), (1, 0, 4), (4, 4, 4)):
        chosen = select(full_evidence, quotas)
        assert len(set(chosen)) == len(chosen)
        assert np.bincount(full_evidence.groups[chosen], minlength=3).tolist() == list(quotas)
    assert sorted(select(full_evidence, (12,))) == list(range(12))
    assert select(full_evidence, (3,)) == select(full_evidence, (6,))[:3]


@pytest.mark.parametrize("name", SELECTORS)
def test_rows_that_are_all_alike_are_taken_in_order(make_evidence: MakeEvidence, name: str) -> None:
    alike: dict[str, Any] = {"features": [[1.0, 2.0]] * 6, "probabilities": [[0.7, 0.3]] * 6, "groups": [0] * 6}
    rows = make_evidence(**alike)
    evidence = make_evidence(
        **alike,
        early_gradient_norms=[1.0] * 6,
        correct_by_epoch=[[True] * 6],
        validation=LabelledRows(rows.groups, rows.features, rows.probabilities),
    )
    assert SELECTORS[name](evidence, (3,)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("select", "measure"),
    [
        (least_confidence, lambda row: -max(row)),
        (entropy, lambda row: -sum(p * math.log(p) for p in row)),
        (margin, lambda row: sorted(row)[-2] - sorted(row)[-1]),
    ],
    ids=["least-confidence", "entropy", "margin"],
)
def test_least_sure_rows_of_each_group_come_first_whatever_their_label(
    make_evidence: MakeEvidence, select: Select, measure: Callable[[list[float]], float]
) -> None:
    evidence = make_evidence(40, 4)
    scores = [measure(row) for row in evidence.probabilities.tolist()]
    ranked = sorted(range(40), key=lambda row: scores[row], reverse=True)
    expected = [[row for row in ranked if evidence.groups[row] == group] for group in range(4)]

    assert select(evidence, (10, 10, 10, 10)) == [row for rows in expected for row in rows]


BY_ROW = [
    [True, True, True, True, True],  # never forgotten
    [True, False, True, False, True],  # twice
    [False, False, True, True, False],  # once: learning is no event
    [False, False, False, False, False],  # never learned
    [True, False, False, False, False],  # once: staying wrong is no event
]


def test_forgetting_and_grand_compare_rows_of_one_group(make_evidence: MakeEvidence) -> None:
    correct, norms = np.array(BY_ROW).T, [1.0, 5.0, 9.0, 2.0, 7.0]
    evidence = make_evidence(groups=[0, 1, 1, 0, 1], correct_by_epoch=correct, early_gradient_norms=norms)

    assert forgetting(make_evidence(groups=[0] * 5, correct_by_epoch=correct), (5,)) == [3, 1, 2, 4, 0]
    assert forgetting(evidence, (2, 2)) == [3, 0, 1, 2]
    assert grand(evidence, (2, 2)) == [3, 0, 2, 4]
