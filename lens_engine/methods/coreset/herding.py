"""Herding: examples whose running mean stays close to the mean of all.

Welling, "Herding dynamical weights to learn" (ICML 2009); Chen, Welling & Smola, "Super-samples from kernel
herding" (UAI 2010). In feature space and within each group, as Guo et al., "DeepCore" (DEXA 2022), set it up.
"""

import numpy as np

from lens_engine.language_model.fine_tuning.evidence import Evidence
from lens_engine.methods.coreset.group_choice import choose_within, first_best
from lens_engine.types import FloatArray


def herding(evidence: Evidence, quotas: tuple[int, ...], rng: np.random.Generator) -> list[int]:  # noqa: ARG001
    """Each pick minimises the Euclidean distance from the group's mean to the mean of the features chosen with it.

    Welling's own rule takes the largest inner product with what the sum of the picks lacks of that many means. It is
    the same where all features are equally long, and prefers long ones where they are not.
    """
    return choose_within(evidence.groups, quotas, lambda rows, quota: _follow_mean(evidence.features[rows], quota))


def _follow_mean(features: FloatArray, count: int) -> list[int]:
    mean = features.mean(axis=0)
    gathered = np.zeros_like(mean)
    is_open = np.ones(len(features), dtype=bool)
    chosen: list[int] = []
    for size in range(1, count + 1):
        distances = np.linalg.norm((gathered + features) / size - mean, axis=1)  # [rows] if this one came next
        place = first_best(np.where(is_open, -distances, -np.inf))
        chosen.append(place)
        is_open[place] = False
        gathered += features[place]
    return chosen
