"""Herding, k-center and CAL."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from lab.rivals.evidence import Evidence
from lab.rivals.geometry import cal, herding, k_center

MakeEvidence = Callable[..., Evidence]


@pytest.mark.parametrize("seed", range(2))
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


@pytest.mark.parametrize("seed", range(2))
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


@pytest.mark.parametrize("seed", range(2))
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


def test_cal_of_a_zero_probability_is_finite(make_evidence: MakeEvidence) -> None:
    # Others are sure of what rows 0, 1 and 2 rule out: two of them against row 2, one against each of the other two.
    probabilities = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
    evidence = make_evidence(groups=[0] * 4, probabilities=probabilities)

    assert cal(evidence, (4,)) == [2, 0, 1, 3]
