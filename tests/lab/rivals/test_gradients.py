import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lab.rivals import gradients
from lab.rivals.coresets import Select
from lab.rivals.evidence import Evidence
from lab.rivals.gradients import craig, facility_location, grad_match, graph_cut

MakeEvidence = Callable[..., Evidence]


@pytest.mark.parametrize("seed", range(2))
def test_craig_covers_the_rows_of_each_group_by_rows_of_it(make_evidence: MakeEvidence, dense: Any, seed: int) -> None:
    evidence = make_evidence(18, 2, seed=seed)
    vectors = dense(evidence.gradients)
    expected: list[int] = []
    for group, quota in enumerate((3, 4)):
        rows = np.flatnonzero(evidence.groups == group).tolist()
        members: list[int] = []
        while len(members) < quota:
            others = [row for row in rows if row not in members]
            # Two rows that are nearest to each other cover alike, and the lower one is to be taken.
            costs = dict[int, float]()
            for row in others:
                lengths = (min(math.dist(vectors[one], vectors[at]) for at in (*members, row)) for one in rows)
                costs[row] = round(sum(lengths), 9)
            members.append(min(others, key=lambda row: costs[row]))
        expected += members

    assert craig(evidence, (3, 4)) == expected


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


@pytest.mark.parametrize("seed", range(2))
def test_grad_match_pursues_each_group_with_half_norm_ridge(make_evidence: MakeEvidence, dense: Any, seed: int) -> None:
    evidence = make_evidence(24, 2, seed=seed)
    expected: list[int] = []
    for group, quota in enumerate((6, 5)):
        rows = np.flatnonzero(evidence.groups == group)
        expected += rows[pursue_written_out(dense(evidence.gradients)[rows], quota, ridge=0.5)].tolist()

    assert grad_match(evidence, (6, 5)) == expected


Matrix = NDArray[np.float64]
Value = Callable[[Matrix, Sequence[int]], float]


def cosines(vectors: Matrix) -> Matrix:
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
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
@pytest.mark.parametrize("seed", range(2))
def test_choice_is_the_greedy_one_of_each_group_a_block_at_a_time(
    make_evidence: MakeEvidence, dense: Any, monkeypatch: pytest.MonkeyPatch, select: Select, value: Value, seed: int
) -> None:
    evidence = make_evidence(22, 2, seed=seed)
    monkeypatch.setattr(gradients, "_BLOCK", 3)
    expected = []
    for group, quota in enumerate((5, 3)):
        rows = np.flatnonzero(evidence.groups == group)
        expected += rows[greedy(value, cosines(dense(evidence.gradients))[np.ix_(rows, rows)], quota)].tolist()

    assert select(evidence, (5, 3)) == expected
