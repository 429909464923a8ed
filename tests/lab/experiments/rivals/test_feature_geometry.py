"""Herding, k-center and CAL."""

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from experiments.rivals.fine_tuning.evidence import Evidence
from experiments.rivals.geometry import cal, herding, k_center

MakeEvidence = Callable[..., Evidence]


def test_herding_keeps_the_running_mean_at_the_mean(make_evidence: MakeEvidence) -> None:
    # The mean is 3.2. First the nearest, 3. The mean of 3 and 0, 1, 2, 10 is 1.5, 2, 2.5, 6.5: 2 keeps it nearest.
    # With 0, 1, 10 it becomes 1.67, 2, 5: 1. With 0, 10 it becomes 1.5, 4: the outlier, before the nearer 0.
    evidence = make_evidence(groups=[0] * 5, features=[[0.0], [1.0], [2.0], [3.0], [10.0]])

    assert herding(evidence, (4,)) == [3, 2, 1, 4]


@pytest.mark.parametrize("seed", range(4))
def test_herding_tries_every_row_and_keeps_the_nearest_mean(make_evidence: MakeEvidence, seed: int) -> None:
    evidence = make_evidence(21, 2, seed=seed)
    expected: list[int] = []
    for group, quota in enumerate((4, 5)):
        rows = np.flatnonzero(evidence.groups == group).tolist()
        mean = np.mean([evidence.features[row] for row in rows], axis=0)
        members: list[int] = []
        while len(members) < quota:
            others = [row for row in rows if row not in members]
            members.append(
                min(others, key=lambda row: math.dist(mean, np.mean(evidence.features[[*members, row]], axis=0)))
            )
        expected += members

    assert herding(evidence, (4, 5)) == expected


def test_herding_follows_the_mean_of_the_group_not_of_the_pool(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence(groups=[0, 0, 0, 1, 1, 1], features=[[0.0], [1.0], [2.0], [10.0], [20.0], [31.0]])

    assert herding(evidence, (1, 1)) == [1, 4]


def test_k_center_takes_the_farthest_from_its_nearest_centre(make_evidence: MakeEvidence) -> None:
    positions = [0.0, 1.0, 6.0, 10.0]
    evidence = make_evidence(groups=[0] * 4, features=[[position] for position in positions])
    by_first = {0: [0, 3, 2], 1: [1, 3, 2], 2: [2, 0, 3], 3: [3, 0, 2]}

    seen = [tuple(k_center(evidence, (3,), np.random.default_rng(seed))) for seed in range(20)]

    assert all(list(chosen) == by_first[chosen[0]] for chosen in seen)
    assert {chosen[0] for chosen in seen} == {0, 1, 2, 3}  # the first centre is drawn from the whole group


@pytest.mark.parametrize("seed", range(4))
def test_k_center_tries_every_row_of_the_group(make_evidence: MakeEvidence, seed: int) -> None:
    evidence = make_evidence(21, 2, seed=seed)

    chosen = k_center(evidence, (5, 4), np.random.default_rng(seed))

    assert evidence.groups[chosen].tolist() == [0] * 5 + [1] * 4
    for group, centres in enumerate((chosen[:5], chosen[5:])):
        for count in range(1, len(centres)):
            radius = {
                row: min(math.dist(evidence.features[row], evidence.features[centre]) for centre in centres[:count])
                for row in np.flatnonzero(evidence.groups == group).tolist()
            }
            assert centres[count] == max(radius, key=lambda row: radius[row])


def test_k_center_reaches_twice_the_least_radius_at_most(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence(12, seed=5)
    distances = np.linalg.norm(evidence.features[:, None] - evidence.features[None], axis=2)
    least = min(distances[:, list(centres)].min(axis=1).max() for centres in combinations(range(12), 3))

    for seed in range(5):
        chosen = k_center(evidence, (3,), np.random.default_rng(seed))
        assert distances[:, chosen].min(axis=1).max() <= 2 * least


def test_cal_takes_the_row_whose_neighbours_are_predicted_otherwise(make_evidence: MakeEvidence) -> None:
    # Two clusters of 12, predicted alike within, except row 3; row 23 is as unsure, but so is all of its cluster.
    features = np.concatenate([np.arange(12.0), 100.0 + np.arange(12.0)])[:, None]
    probabilities = np.array([[0.9, 0.1]] * 12 + [[0.4, 0.6]] * 12)
    probabilities[3] = [0.4, 0.6]
    evidence = make_evidence(groups=[0] * 24, features=features, probabilities=probabilities)

    assert cal(evidence, (1,)) == [3]


def test_cal_measures_divergence_of_neighbours_from_the_row(make_evidence: MakeEvidence) -> None:
    # Three rows: each has both others as neighbours.
    p = np.array([0.9, 0.5, 0.99])

    def divergence(a: float, b: float) -> float:
        return float(a * np.log(a / b) + (1 - a) * np.log((1 - a) / (1 - b)))

    inward = [np.mean([divergence(p[j], p[i]) for j in range(3) if j != i]) for i in range(3)]
    outward = [np.mean([divergence(p[i], p[j]) for j in range(3) if j != i]) for i in range(3)]
    evidence = make_evidence(groups=[0] * 3, probabilities=np.column_stack([p, 1 - p]))

    order = cal(evidence, (3,))

    assert order == np.argsort(inward)[::-1].tolist()
    assert order != np.argsort(outward)[::-1].tolist()


@pytest.mark.parametrize("seed", range(4))
def test_cal_ranks_each_group_by_the_neighbours_written_out(make_evidence: MakeEvidence, seed: int) -> None:
    evidence = make_evidence(36, 3, seed=seed)

    def score(row: int) -> float:
        others = [other for other in range(36) if other != row]
        nearest = sorted(others, key=lambda other: math.dist(evidence.features[row], evidence.features[other]))[:10]
        own = evidence.probabilities[row]
        return sum(
            float(p * math.log(p / q))
            for other in nearest
            for p, q in zip(evidence.probabilities[other], own, strict=True)
        )

    ranked = sorted(range(36), key=score, reverse=True)
    expected = [[row for row in ranked if evidence.groups[row] == group][:5] for group in range(3)]

    assert cal(evidence, (5, 5, 5)) == [row for rows in expected for row in rows]


def test_cal_counts_ten_neighbours(make_evidence: MakeEvidence) -> None:
    # Row 0 disagrees with its eleventh nearest alone, row 12 with its tenth nearest alone. Were there nine neighbours
    # or eleven, both would be equal, and the lower row chosen.
    features = np.array([[1000.0 + place] for place in range(12)] + [[float(place)] for place in range(11)])
    probabilities = np.full((23, 2), 0.5)
    probabilities[[11, 22]] = [0.1, 0.9]
    groups = [0 if row in (0, 12) else 1 for row in range(23)]
    evidence = make_evidence(groups=groups, features=features, probabilities=probabilities)

    assert cal(evidence, (1, 0)) == [12]


def test_cal_of_a_pool_of_one_has_no_neighbours(make_evidence: MakeEvidence) -> None:
    assert cal(make_evidence(groups=[0]), (1,)) == [0]


def test_cal_of_a_zero_probability_is_finite(make_evidence: MakeEvidence) -> None:
    # Others are sure of what rows 0, 1 and 2 rule out: two of them against row 2, one against each of the other two.
    probabilities = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
    evidence = make_evidence(groups=[0] * 4, probabilities=probabilities)

    assert cal(evidence, (4,)) == [2, 0, 1, 3]
