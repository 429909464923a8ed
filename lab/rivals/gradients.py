"""Selectors by gradients of the final layer: rows that stand for the gradients of their group. Weights are not used.

CRAIG: Mirzasoleiman, Bilmes & Leskovec, "Coresets for data-efficient training of machine learning models"
(ICML 2020). GradMatch: Killamsetty et al., "GRAD-MATCH" (ICML 2021).

Facility location and graph cut: Iyer & Bilmes, "Submodular optimization with submodular cover and submodular knapsack
constraints" (NeurIPS 2013); Kothawade et al., "SIMILAR" (NeurIPS 2021). The similarity of two rows is the cosine of
their gradients, scaled to [0, 1]. The greedy choice reaches at least 1 - 1/e of the best value of a monotone submodular
function (Nemhauser, Wolsey & Fisher, 1978); both functions are monotone submodular.

All choose within each group, as in Guo et al., "DeepCore" (DEXA 2022).
"""

from collections.abc import Callable

import numpy as np

from lab.rivals.choosing import choose_within, first_best
from lab.rivals.evidence import Evidence, FinalLayerGradients
from lens_engine.types import FloatArray, IndexArray

_RIDGE = 0.5
"""GradMatch's penalty on squared weights, with the paper's value but in units of the mean squared norm of a gradient,
so that the choice does not depend on the scale of the features."""

_BLOCK = 256
"""Number of candidates whose gains are computed at a time, so that memory stays linear in the rows of a group."""

Similarity = Callable[[IndexArray], FloatArray]
"""Similarity of every row of the ground set with some rows  # [rows, some rows], at least 0."""


def craig(evidence: Evidence, quotas: tuple[int, ...]) -> list[int]:
    """Greedily minimise the sum, over the group, of the distance from each gradient to the nearest chosen one."""

    def choose(rows: IndexArray, quota: int) -> list[int]:
        gradients = evidence.gradients.take(rows)
        # Facility location on (constant - distance). The constant has to be at least the largest distance.
        most = 2.0 * float(gradients.norms.max())

        def similarity(asked: IndexArray) -> FloatArray:
            return np.asarray(np.maximum(most - np.sqrt(gradients.squared_distances(gradients.take(asked))), 0.0))

        return maximise(FacilityLocation(similarity, len(rows)), len(rows), quota)

    return choose_within(evidence.groups, quotas, choose)


def grad_match(evidence: Evidence, quotas: tuple[int, ...]) -> list[int]:
    """Orthogonal matching pursuit of the group's summed gradient."""

    def choose(rows: IndexArray, quota: int) -> list[int]:
        return pursue(evidence.gradients.take(rows), quota)

    return choose_within(evidence.groups, quotas, choose)


def pursue(gradients: FinalLayerGradients, count: int, ridge: float = _RIDGE) -> list[int]:
    """Each pick is most aligned with the residual of the weighted sum.

    After each pick all weights are fitted again: they minimise ||total - sum of w_i g_i||² + ridge * m * ||w||²,
    where m is the mean squared norm. Only positive alignments count, because the rows are used without weights.
    """
    aims = gradients.products_with(gradients.total())  # [rows] g_i · total
    penalty = ridge * float(np.mean(gradients.norms**2))
    crossed = np.empty((len(gradients), 0))  # [rows, chosen] g_i · g_j
    chosen: list[int] = []
    weights: FloatArray = np.empty(0)
    for _ in range(count):
        lacking = aims - crossed @ weights  # [rows] g_i · residual
        lacking[chosen] = -np.inf
        chosen.append(first_best(lacking))
        crossed = np.column_stack([crossed, gradients.products(gradients.take(chosen[-1:]))])
        normal = crossed[chosen] + penalty * np.eye(len(chosen))
        # Least squares, not an inverse: gradients may be parallel or zero.
        weights = np.asarray(np.linalg.lstsq(normal, aims[chosen])[0], dtype=np.float64)
    return chosen


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
