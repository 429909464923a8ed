"""Least confidence, entropy, margin; forgetting and GraNd."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from lab.rivals.fine_tuning.evidence import Evidence
from lab.rivals.hardness import entropy, forgetting, grand, least_confidence, margin
from lab.rivals.method import Select

MakeEvidence = Callable[..., Evidence]


def negative_highest(row: list[float]) -> float:
    return -max(row)


def entropy_in_nats(row: list[float]) -> float:
    return -sum(p * math.log(p) for p in row)


def negative_lead(row: list[float]) -> float:
    first, second, *_ = sorted(row, reverse=True)
    return second - first


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("select", "measure"),
    [(least_confidence, negative_highest), (entropy, entropy_in_nats), (margin, negative_lead)],
    ids=["least-confidence", "entropy", "margin"],
)
def test_least_sure_rows_of_each_group_come_first_whatever_their_label(
    make_evidence: MakeEvidence,
    select: Select,
    measure: Callable[[list[float]], float],
    seed: int,
) -> None:
    evidence = make_evidence(40, 4, seed=seed)
    scores = [measure(row) for row in evidence.probabilities.tolist()]
    ranked = sorted(range(40), key=lambda row: scores[row], reverse=True)
    expected = [[row for row in ranked if evidence.groups[row] == group] for group in range(4)]

    assert select(evidence, (10, 10, 10, 10)) == [row for rows in expected for row in rows]


def test_entropy_of_a_certain_row_is_zero_not_undefined(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence(groups=[0, 0], probabilities=[[1.0, 0.0], [0.9, 0.1]])

    assert entropy(evidence, (2,)) == [1, 0]


BY_ROW = [
    [True, True, True, True, True],  # never forgotten
    [True, False, True, False, True],  # twice
    [False, False, True, True, False],  # once: learning is no event
    [False, False, False, False, False],  # never learned
    [True, False, False, False, False],  # once: staying wrong is no event
]


def test_forgetting_takes_never_learned_rows_first(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence(groups=[0] * 5, correct_by_epoch=np.array(BY_ROW).T)

    assert forgetting(evidence, (5,)) == [3, 1, 2, 4, 0]


def test_forgetting_and_grand_compare_rows_of_one_group(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence(
        groups=[0, 1, 1, 0, 1],
        correct_by_epoch=np.array(BY_ROW).T,
        early_gradient_norms=[1.0, 5.0, 9.0, 2.0, 7.0],
    )

    assert forgetting(evidence, (2, 2)) == [3, 0, 1, 2]
    assert grand(evidence, (2, 2)) == [3, 0, 2, 4]
