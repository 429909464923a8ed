from collections.abc import Callable
from itertools import combinations, pairwise

import numpy as np
import pytest

from lens_engine.baselines.evidence import Evidence, FinalLayerGradients
from lens_engine.baselines.gradient_matching import craig, grad_match, pursue

MakeEvidence = Callable[..., Evidence]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize("seed", range(4))
def test_craig_lowers_the_distance_to_the_nearest_chosen_gradient_greedily(
    make_evidence: MakeEvidence, rng: np.random.Generator, seed: int
) -> None:
    evidence = make_evidence(10, 3, seed=seed)
    dense = evidence.gradients.dense()
    distances = np.linalg.norm(dense[:, None] - dense[None], axis=2)
    greedy: list[int] = []
    for _ in range(4):
        others = [row for row in range(10) if row not in greedy]
        greedy.append(min(others, key=lambda row: distances[:, [*greedy, row]].min(axis=1).sum()))

    assert craig(evidence, (4,), rng) == greedy


def test_craig_covers_as_well_as_the_greedy_bound_says(make_evidence: MakeEvidence, rng: np.random.Generator) -> None:
    evidence = make_evidence(10, 2, seed=9)
    dense = evidence.gradients.dense()
    closeness = 2.0 * evidence.gradients.norms.max() - np.linalg.norm(dense[:, None] - dense[None], axis=2)
    best = max(closeness[:, list(members)].max(axis=1).sum() for members in combinations(range(10), 3))

    assert closeness[:, craig(evidence, (3,), rng)].max(axis=1).sum() >= (1.0 - 1.0 / np.e) * best


def test_craig_looks_at_the_group_alone(make_evidence: MakeEvidence, rng: np.random.Generator) -> None:
    # p - y is ±(0.5, -0.5), so a gradient's place follows its feature. Medians of 0, 2, 9 and of 50, 51, 70.
    features = [[0.0], [2.0], [9.0], [50.0], [51.0], [70.0]]
    evidence = make_evidence(groups=[0, 0, 0, 1, 1, 1], features=features, probabilities=[[0.5, 0.5]] * 6)

    assert craig(evidence, (1, 1), rng) == [1, 4]


def random_gradients(num_rows: int, seed: int) -> FinalLayerGradients:
    rng = np.random.default_rng(seed)
    return FinalLayerGradients(rng.normal(size=(num_rows, 2)), rng.normal(size=(num_rows, 6)))


@pytest.mark.parametrize("seed", range(4))
def test_pursuit_takes_what_is_most_aligned_with_what_is_lacking(seed: int) -> None:
    gradients, ridge = random_gradients(9, seed), 0.3
    dense, total = gradients.dense(), gradients.dense().sum(axis=0)
    penalty = ridge * np.mean(gradients.norms**2)
    expected: list[int] = []
    residual = total
    for _ in range(5):
        expected.append(max(set(range(9)) - set(expected), key=lambda row: float(dense[row] @ residual)))
        atoms = dense[expected].T
        # Ridge as ordinary least squares, with rows that ask every weight to be zero.
        system = np.vstack([atoms, np.sqrt(penalty) * np.eye(len(expected))])
        weights = np.linalg.lstsq(system, np.concatenate([total, np.zeros(len(expected))]))[0]
        residual = total - atoms @ weights

    chosen, found = pursue(gradients, 5, ridge)

    assert chosen == expected
    np.testing.assert_allclose(found, weights, rtol=1e-9)


def test_pursuit_comes_nearer_with_each_pick_and_in_the_end_all_the_way() -> None:
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


def test_grad_match_does_not_depend_on_the_scale_of_features(
    make_evidence: MakeEvidence, rng: np.random.Generator
) -> None:
    small = make_evidence(20, 2, seed=2)
    large = make_evidence(20, 2, seed=2, features=small.features * 1000.0)

    assert grad_match(small, (4, 4), rng) == grad_match(large, (4, 4), rng)


def test_grad_match_aims_at_the_total_of_the_group(make_evidence: MakeEvidence, rng: np.random.Generator) -> None:
    evidence = make_evidence(20, 2, seed=4)
    expected = []
    for group in range(2):
        rows = np.flatnonzero(evidence.groups == group)
        dense = evidence.gradients.dense()[rows]
        expected.append(int(rows[np.argmax(dense @ dense.sum(axis=0))]))

    assert grad_match(evidence, (1, 1), rng) == expected
