"""Uncertainty: examples of which the fine-tuned classifier is least sure, by three measures of being sure.

Coleman et al., "Selection via proxy: efficient data selection for deep learning" (ICLR 2020), the best of each
group as Guo et al., "DeepCore" (DEXA 2022), set it up. The label of an example plays no part in its score.
"""

import numpy as np
from scipy.special import entr

from lens_engine.language_model.fine_tuning.evidence import Evidence
from lens_engine.methods.coreset.group_choice import choose_highest


def least_confidence(evidence: Evidence, quotas: tuple[int, ...], rng: np.random.Generator) -> list[int]:  # noqa: ARG001
    """The lowest probability of the likeliest label."""
    return choose_highest(evidence.groups, quotas, -evidence.probabilities.max(axis=1))


def entropy(evidence: Evidence, quotas: tuple[int, ...], rng: np.random.Generator) -> list[int]:  # noqa: ARG001
    """The highest entropy of the probabilities, nats."""
    return choose_highest(evidence.groups, quotas, np.asarray(entr(evidence.probabilities).sum(axis=1)))


def margin(evidence: Evidence, quotas: tuple[int, ...], rng: np.random.Generator) -> list[int]:  # noqa: ARG001
    """The smallest lead of the likeliest label over the second."""
    ordered = np.sort(evidence.probabilities, axis=1)  # [rows, labels]
    return choose_highest(evidence.groups, quotas, ordered[:, -2] - ordered[:, -1])
