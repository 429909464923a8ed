import math
from collections.abc import Callable, Sequence
from itertools import combinations, pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from experiments.rivals.fine_tuning.evidence import Evidence, FinalLayerGradients
from experiments.rivals.gradient_matching import craig, grad_match, pursue

MakeEvidence = Callable[..., Evidence]


@pytest.mark.parametrize("seed", range(4))
def test_craig_picks_greedily_by_nearest_gradient_distance(make_evidence: MakeEvidence, seed: int) -> None:
    evidence = make_evidence(10, 3, seed=seed)
    dense = evidence.gradients.dense()
    distances = np.linalg.norm(dense[:, None] - dense[None], axis=2)
    greedy: list[int] = []
    for _ in range(4):
        others = [row for row in range(10) if row not in greedy]
        greedy.append(min(others, key=lambda row: distances[:, [*greedy, row]].min(axis=1).sum()))

    assert craig(evidence, (4,)) == greedy


def test_craig_finds_the_best_choice_where_gradients_are_in_clusters(make_evidence: MakeEvidence) -> None:
    """Three heaps of three, far apart: of all 84 triples the best is the middle of each heap."""
    features = [[0.0], [3.0], [7.0], [100.0], [102.0], [103.0], [230.0], [231.0], [233.0]]
    evidence = make_evidence(groups=[0] * 9, features=features, probabilities=[[0.5, 0.5]] * 9)
    dense = evidence.gradients.dense()
    distances = np.linalg.norm(dense[:, None] - dense[None], axis=2)

    chosen = craig(evidence, (3,))

    assert sorted(chosen) == [1, 4, 7]
    assert sorted(chosen) == list(
        min(combinations(range(9), 3), key=lambda members: distances[:, list(members)].min(axis=1).sum())
    )


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


def test_craig_looks_at_the_group_alone(make_evidence: MakeEvidence) -> None:
    # p - y is ±(0.5, -0.5), so a gradient's place follows its feature. Medians of 0, 2, 9 and of 50, 51, 70.
    features = [[0.0], [2.0], [9.0], [50.0], [51.0], [70.0]]
    evidence = make_evidence(groups=[0, 0, 0, 1, 1, 1], features=features, probabilities=[[0.5, 0.5]] * 6)

    assert craig(evidence, (1, 1)) == [1, 4]


def random_gradients(num_rows: int, seed: int) -> FinalLayerGradients:
    rng = np.random.default_rng(seed)
    return FinalLayerGradients(rng.normal(size=(num_rows, 2)), rng.normal(size=(num_rows, 6)))


def pursue_written_out(dense: NDArray[np.float64], count: int, ridge: float) -> tuple[list[int], NDArray[np.float64]]:
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
    return chosen, weights


@pytest.mark.parametrize("seed", range(4))
def test_pursuit_takes_what_is_most_aligned_with_what_is_lacking(seed: int) -> None:
    gradients = random_gradients(9, seed)
    expected, weights = pursue_written_out(gradients.dense(), 5, ridge=0.3)

    chosen, found = pursue(gradients, 5, ridge=0.3)

    assert chosen == expected
    np.testing.assert_allclose(found, weights, rtol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_grad_match_pursues_each_group_with_half_a_norm_of_ridge(make_evidence: MakeEvidence, seed: int) -> None:
    evidence = make_evidence(24, 2, seed=seed)
    expected: list[int] = []
    for group, quota in enumerate((6, 5)):
        rows = np.flatnonzero(evidence.groups == group)
        expected += rows[pursue_written_out(evidence.gradients.dense()[rows], quota, ridge=0.5)[0]].tolist()

    assert grad_match(evidence, (6, 5)) == expected


def test_pursuit_lets_a_weight_be_negative() -> None:
    """The third pick gets one, and the fourth is chosen by it: with its size alone row 1 would come before row 2."""
    features = np.array([[2.0, -3.0], [3.0, 4.0], [-2.0, -1.0], [4.0, -1.0], [-3.0, -2.0]])
    expected, weights = pursue_written_out(features, 4, ridge=0.5)

    chosen, found = pursue(FinalLayerGradients(np.ones((5, 1)), features), 4)

    assert chosen == expected == [3, 0, 4, 2]
    np.testing.assert_allclose(found, weights)
    assert weights[2] < 0


def test_pursuit_residual_shrinks_to_zero() -> None:
    gradients = random_gradients(8, seed=1)
    dense = gradients.dense()
    left = []
    for count in range(1, 9):
        chosen, weights = pursue(gradients, count, ridge=0.0)
        left.append(np.linalg.norm(dense.sum(axis=0) - weights @ dense[chosen]))

    assert all(after < before for before, after in pairwise(left))
    assert left[-1] == pytest.approx(0.0, abs=1e-9)


def test_pursuit_wants_alignment_not_opposition() -> None:
    # The total is (2, 0.5); inner products with it: 6, -8, 6.25. A negative weight is no use to an unweighted choice.
    gradients = FinalLayerGradients(np.ones((3, 1)), np.array([[3.0, 0.0], [-4.0, 0.0], [3.0, 0.5]]))

    assert pursue(gradients, 1)[0] == [2]


def test_pursuit_of_gradients_that_are_parallel_or_zero_still_chooses() -> None:
    gradients = FinalLayerGradients(np.array([[1.0, -1.0]] * 3 + [[0.0, 0.0]]), np.ones((4, 2)))

    assert pursue(gradients, 4, ridge=0.0)[0][0] == 0
    assert sorted(pursue(gradients, 4)[0]) == [0, 1, 2, 3]


def test_grad_match_does_not_depend_on_the_scale_of_features(make_evidence: MakeEvidence) -> None:
    small = make_evidence(20, 2, seed=2)
    large = make_evidence(20, 2, seed=2, features=small.features * 1000.0)

    assert grad_match(small, (4, 4)) == grad_match(large, (4, 4))
