"""Selectors by hardness: they take the hardest rows of each group for the fine-tuned model.

Uncertainty: rows with the least certain prediction, by three measures. Coleman et al., "Selection via proxy: efficient
data selection for deep learning" (ICLR 2020). The score of a row does not depend on its label.

Forgetting: rows that training classified right and later wrong. Toneva et al., "An empirical study of example
forgetting during deep neural network learning" (ICLR 2019).

GraNd: rows with a large gradient early in training. Paul, Ganguli & Dziugaite, "Deep learning on a data diet"
(NeurIPS 2021).
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from lab.rivals.choosing import choose_highest
from lab.rivals.evidence import Evidence
from lens_engine.types import FloatArray


def least_confidence(evidence: Evidence, quotas: tuple[int, ...]) -> list[int]:
    """Rows with the lowest probability of the likeliest label."""
    return choose_highest(evidence.groups, quotas, -evidence.probabilities.max(axis=1))


def entropy(evidence: Evidence, quotas: tuple[int, ...]) -> list[int]:
    """Rows with the highest entropy of the probabilities (nats)."""
    return choose_highest(evidence.groups, quotas, np.asarray(entr(evidence.probabilities).sum(axis=1)))


def margin(evidence: Evidence, quotas: tuple[int, ...]) -> list[int]:
    """Rows with the smallest difference between the two highest probabilities."""
    ordered = np.sort(evidence.probabilities, axis=1)  # [rows, labels]
    return choose_highest(evidence.groups, quotas, ordered[:, -2] - ordered[:, -1])


def forgetting(evidence: Evidence, quotas: tuple[int, ...]) -> list[int]:
    """Rows with the most forgetting events; rows that were never classified right come first."""
    return choose_highest(evidence.groups, quotas, count_forgetting(evidence.correct_by_epoch))


def grand(evidence: Evidence, quotas: tuple[int, ...]) -> list[int]:
    """Rows with the largest norm of the final layer's gradient after one epoch.

    All rows are measured with the same weights. The paper takes the gradient with respect to all weights, and a mean
    over trainings; DeepCore takes the final layer, as here.
    """
    return choose_highest(evidence.groups, quotas, evidence.early_gradient_norms)


def count_forgetting(correct_by_epoch: NDArray[np.bool_]) -> FloatArray:
    """Number of times each row was right in one epoch and wrong in the next  # [rows]; infinite if never right."""
    events = (correct_by_epoch[:-1] & ~correct_by_epoch[1:]).sum(axis=0).astype(np.float64)
    return np.where(correct_by_epoch.any(axis=0), events, np.inf)
