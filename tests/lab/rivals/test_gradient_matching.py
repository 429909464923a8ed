import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from lab.rivals.fine_tuning.evidence import Evidence, FinalLayerGradients
from lab.rivals.gradient_matching import craig, grad_match, pursue

MakeEvidence = Callable[..., Evidence]


@pytest.mark.parametrize("seed", range(4))
def test_craig_covers_the_rows_of_each_group_by_rows_of_it(make_evidence: MakeEvidence, seed: int) -> None:
    evidence = make_evidence(18, 2, seed=seed)
    dense = evidence.gradients.dense()
    expected: list[int] = []
    for group, quota in enumerate((3, 4)):
        rows = np.flatnonzero(evidence.groups == group).tolist()
        members: list[int] = []
        while len(members) < quota:
            others = [row for row in rows if row not in members]
            # Two rows that are nearest to each other cover alike, and the lower one is to be taken.
            costs = {row: round(cost_of_cover(dense, rows, [*members, row]), 9) for row in others}
            members.append(min(others, key=lambda row: costs[row]))
        expected += members

    assert craig(evidence, (3, 4)) == expected


def cost_of_cover(dense: NDArray[np.float64], rows: Sequence[int], members: Sequence[int]) -> float:
    return sum(min(math.dist(dense[row], dense[member]) for member in members) for row in rows)


def pursue_written_out(dense: NDArray[np.float64], count: int, ridge: float) -> list[int]:
    """Orthogonal matching pursuit of the sum; ridge as least squares with rows that ask every weight to be zero."""
    total = dense.sum(axis=0)
    penalty = ridge * np.mean((dense**2).sum(axis=1))
    chosen: list[int] = []
    weights = np.empty(0)
    residual = total
    for _ in range(count):
        others = [row for row in range(len(dense)) if row not in chosen]
        chosen.append(max(others, key=lambda row: float(dense[row] @ residual)))
        atoms = dense[chosen].T
        system = np.vstack([atoms, np.sqrt(penalty) * np.eye(len(chosen))])
        weights = np.linalg.lstsq(system, np.concatenate([total, np.zeros(len(chosen))]))[0]
        residual = total - atoms @ weights
    return chosen


@pytest.mark.parametrize("seed", range(6))
def test_grad_match_pursues_each_group_with_half_a_norm_of_ridge(make_evidence: MakeEvidence, seed: int) -> None:
    evidence = make_evidence(24, 2, seed=seed)
    expected: list[int] = []
    for group, quota in enumerate((6, 5)):
        rows = np.flatnonzero(evidence.groups == group)
        expected += rows[pursue_written_out(evidence.gradients.dense()[rows], quota, ridge=0.5)].tolist()

    assert grad_match(evidence, (6, 5)) == expected


def test_pursuit_of_gradients_that_are_parallel_or_zero_still_chooses() -> None:
    gradients = FinalLayerGradients(np.array([[1.0, -1.0]] * 3 + [[0.0, 0.0]]), np.ones((4, 2)))

    assert pursue(gradients, 4, ridge=0.0)[0] == 0
    assert sorted(pursue(gradients, 4)) == [0, 1, 2, 3]
