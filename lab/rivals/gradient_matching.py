"""CRAIG and GradMatch: rows whose gradients approximate the gradient of their group. Their weights are not used.

CRAIG: Mirzasoleiman, Bilmes & Leskovec, "Coresets for data-efficient training of machine learning models"
(ICML 2020). GradMatch: Killamsetty et al., "GRAD-MATCH" (ICML 2021). Both choose within each group, as in both
papers and in Guo et al., "DeepCore" (DEXA 2022).
"""

import numpy as np

from lab.rivals.fine_tuning.evidence import Evidence, FinalLayerGradients
from lab.rivals.group_choice import choose_within, first_best
from lab.rivals.submodular import FacilityLocation, maximise
from lens_engine.types import FloatArray, IndexArray

_RIDGE = 0.5
"""GradMatch's penalty on squared weights, with the paper's value but in units of the mean squared norm of a gradient,
so that the choice does not depend on the scale of the features."""


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
