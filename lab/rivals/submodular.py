"""Facility location and graph cut: both are maximised greedily over similarities of gradients, within each group.

Iyer & Bilmes, "Submodular optimization with submodular cover and submodular knapsack constraints" (NeurIPS 2013);
Kothawade et al., "SIMILAR" (NeurIPS 2021). As in Guo et al., "DeepCore" (DEXA 2022), the similarity of two rows is the
cosine of their final-layer gradients, scaled to [0, 1]. The greedy choice reaches at least 1 - 1/e of the best value of
a monotone submodular function (Nemhauser, Wolsey & Fisher, 1978); both functions are monotone submodular.
"""

from collections.abc import Callable

import numpy as np

from lab.rivals.fine_tuning.evidence import Evidence, FinalLayerGradients
from lab.rivals.group_choice import choose_within, first_best
from lens_engine.types import FloatArray, IndexArray

_BLOCK = 256
"""Number of candidates whose gains are computed at a time, so that memory stays linear in the rows of a group."""

Similarity = Callable[[IndexArray], FloatArray]
"""Similarity of every row of the ground set with some rows  # [rows, some rows], at least 0."""


class FacilityLocation:
    """The sum, over all rows, of the similarity with the most similar row of the set."""

    def __init__(self, similarity: Similarity, num_rows: int) -> None:
        self._similarity = similarity
        self._covered = np.zeros(num_rows)

    def gains(self, candidates: IndexArray) -> FloatArray:
        """Gain of adding each candidate alone to the current set  # [candidates]."""
        better = np.maximum(self._similarity(candidates) - self._covered[:, None], 0.0)  # [rows, candidates]
        return np.asarray(better.sum(axis=0))

    def add(self, element: int) -> None:
        self._covered = np.maximum(self._covered, self._similarity(np.array([element]))[:, 0])


class GraphCut:
    """2 * similarity of the set with all rows - similarity within the set; 2 is the least weight for a monotone cut."""

    def __init__(self, similarity: Similarity) -> None:
        self._similarity = similarity
        self._chosen: list[int] = []

    def gains(self, candidates: IndexArray) -> FloatArray:
        similar = self._similarity(candidates)  # [rows, candidates]
        itself = similar[candidates, np.arange(len(candidates))]
        return np.asarray(2.0 * similar.sum(axis=0) - 2.0 * similar[self._chosen].sum(axis=0) - itself)

    def add(self, element: int) -> None:
        self._chosen.append(element)


def facility_location(evidence: Evidence, quotas: tuple[int, ...]) -> list[int]:
    """Rows such that every row of the group has a chosen row with a similar gradient."""

    def choose(rows: IndexArray, quota: int) -> list[int]:
        return maximise(FacilityLocation(_cosines(evidence.gradients.take(rows)), len(rows)), len(rows), quota)

    return choose_within(evidence.groups, quotas, choose)


def graph_cut(evidence: Evidence, quotas: tuple[int, ...]) -> list[int]:
    """Rows whose gradients are similar to those of the group and dissimilar to each other."""

    def choose(rows: IndexArray, quota: int) -> list[int]:
        return maximise(GraphCut(_cosines(evidence.gradients.take(rows))), len(rows), quota)

    return choose_within(evidence.groups, quotas, choose)


def maximise(function: FacilityLocation | GraphCut, num_rows: int, count: int) -> list[int]:
    """Add `count` rows, each time the row with the largest gain; ties go to the lower row."""
    blocks = np.array_split(np.arange(num_rows), -(-num_rows // _BLOCK))
    chosen: list[int] = []
    for _ in range(count):
        gains = np.concatenate([function.gains(block) for block in blocks])  # [rows]
        gains[chosen] = -np.inf
        chosen.append(first_best(gains))
        function.add(chosen[-1])
    return chosen


def _cosines(gradients: FinalLayerGradients) -> Similarity:
    """The similarity (1 + cosine) / 2; a zero gradient has cosine 0 with every gradient."""
    unit = FinalLayerGradients(_unit(gradients.residuals), _unit(gradients.features))
    return lambda asked: (1.0 + unit.products(unit.take(asked))) / 2.0


def _unit(vectors: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths == 0.0, 1.0, lengths))
