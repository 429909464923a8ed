from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

import experiments.rivals.submodular as submodular
from experiments.rivals.fine_tuning.evidence import Evidence
from experiments.rivals.method import Select
from experiments.rivals.submodular import FacilityLocation, facility_location, graph_cut, maximise

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
def test_choice_is_the_greedy_one(make_evidence: MakeEvidence, select: Select, value: Value, seed: int) -> None:
    evidence = make_evidence(16, 3, seed=seed)

    assert select(evidence, (6,)) == greedy(value, cosines(evidence), 6)


@BOTH
def test_a_block_at_a_time_chooses_as_all_at_once(
    make_evidence: MakeEvidence,
    monkeypatch: pytest.MonkeyPatch,
    select: Select,
    value: Value,
) -> None:
    evidence = make_evidence(40, 2, seed=7)
    monkeypatch.setattr(submodular, "_BLOCK", 3)

    assert select(evidence, (8,)) == greedy(value, cosines(evidence), 8)


@BOTH
def test_each_group_is_a_problem_of_its_own(make_evidence: MakeEvidence, select: Select, value: Value) -> None:
    evidence = make_evidence(14, 2, seed=3)
    expected = []
    for group in range(2):
        rows = np.flatnonzero(evidence.groups == group)
        similarity = cosines(evidence)[np.ix_(rows, rows)]
        expected += rows[greedy(value, similarity, 2)].tolist()

    assert select(evidence, (2, 2)) == expected


def test_gain_with_a_low_bound_is_not_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submodular, "_BLOCK", 1)
    similarity = np.eye(50) + 0.1 * np.diag(np.arange(50.0))
    asked: list[int] = []

    class Counting(FacilityLocation):
        def gains(self, candidates: NDArray[np.intp]) -> Matrix:
            asked.extend(candidates.tolist())
            return super().gains(candidates)

    assert maximise(Counting(lambda rows: similarity[:, rows], 50), 50, 3) == [49, 48, 47]
    assert len(asked) == 50 + 1 + 1


def test_a_gradient_of_zero_is_no_error(make_evidence: MakeEvidence) -> None:
    evidence = make_evidence(groups=[0, 0, 1], probabilities=[[1.0, 0.0], [0.6, 0.4], [0.3, 0.7]])

    assert sorted(facility_location(evidence, (3,))) == [0, 1, 2]
