"""k-center greedy: examples such that every other one is near one of them.

Sener & Savarese, "Active learning for convolutional neural networks: a core-set approach" (ICLR 2018),
algorithm 1. Within each group, Euclidean in feature space, from a random first centre, as Guo et al., "DeepCore"
(DEXA 2022), set it up. The greedy choice has at most twice the least possible radius.
"""

import numpy as np

from lens_engine.language_model.fine_tuning.evidence import Evidence
from lens_engine.methods.coreset.group_choice import choose_within, first_best
from lens_engine.types import FloatArray


def k_center(evidence: Evidence, quotas: tuple[int, ...], rng: np.random.Generator) -> list[int]:
    """A random row of the group, then each time the row that is farthest from its nearest centre."""
    return choose_within(
        evidence.groups,
        quotas,
        lambda rows, quota: _spread(evidence.features[rows], quota, int(rng.integers(len(rows)))),
    )


def _spread(features: FloatArray, count: int, first: int) -> list[int]:
    chosen = [first]
    nearest = np.full(len(features), np.inf)  # [rows] distance to the nearest centre
    for _ in range(count - 1):
        nearest = np.minimum(nearest, np.linalg.norm(features - features[chosen[-1]], axis=1))
        nearest[chosen] = -np.inf
        chosen.append(first_best(nearest))
    return chosen
