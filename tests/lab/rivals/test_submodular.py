from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

import lab.rivals.submodular as submodular
from lab.rivals.fine_tuning.evidence import Evidence
from lab.rivals.method import Select
from lab.rivals.submodular import facility_location, graph_cut

MakeEvidence = Callable[..., Evidence]
Matrix = NDArray[np.float64]
Value = Callable[[Matrix, Sequence[int]], float]


def cosines(evidence: Evidence) -> Matrix:
    gradients = evidence.gradients.dense()
    unit = gradients / np.linalg.norm(gradients, axis=1, keepdims=True)
    return np.asarray((1.0 + unit @ unit.T) / 2.0)


def value_of_facility_location(similarity: Matrix, members: Sequence[int]) -> float:
    return sum(max((row[member] for member in members), default=0.0) for row in similarity)


def value_of_graph_cut(similarity: Matrix, members: Sequence[int]) -> float:
    chosen = list(members)
    return float(2.0 * similarity[:, chosen].sum() - similarity[np.ix_(chosen, chosen)].sum())


def greedy(value: Value, similarity: Matrix, count: int) -> list[int]:
    members: list[int] = []
    for _ in range(count):
        others = [row for row in range(len(similarity)) if row not in members]
        members.append(max(others, key=lambda row: value(similarity, [*members, row])))
    return members


BOTH = pytest.mark.parametrize(
    ("select", "value"),
    [(facility_location, value_of_facility_location), (graph_cut, value_of_graph_cut)],
    ids=["facility-location", "graph-cut"],
)


@BOTH
@pytest.mark.parametrize("seed", range(4))
def test_choice_is_the_greedy_one_of_each_group_a_block_at_a_time(
    make_evidence: MakeEvidence, monkeypatch: pytest.MonkeyPatch, select: Select, value: Value, seed: int
) -> None:
    evidence = make_evidence(22, 2, seed=seed)
    monkeypatch.setattr(submodular, "_BLOCK", 3)
    expected = []
    for group, quota in enumerate((5, 3)):
        rows = np.flatnonzero(evidence.groups == group)
        expected += rows[greedy(value, cosines(evidence)[np.ix_(rows, rows)], quota)].tolist()

    assert select(evidence, (5, 3)) == expected


def test_a_gradient_of_zero_is_no_error(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence(groups=[0, 0, 1], probabilities=[[1.0, 0.0], [0.6, 0.4], [0.3, 0.7]])

    assert sorted(facility_location(evidence, (3,))) == [0, 1, 2]
