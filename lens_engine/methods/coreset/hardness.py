"""Examples the fine-tuned model finds hard. The best of each group are taken.

Uncertainty: the classifier is least sure, by three measures. Coleman et al., "Selection via proxy: efficient data
selection for deep learning" (ICLR 2020). The label of an example plays no part in its score.

Forgetting: training got them right and then wrong again. Toneva et al., "An empirical study of example forgetting
during deep neural network learning" (ICLR 2019).

GraNd: they pull hard early in training. Paul, Ganguli & Dziugaite, "Deep learning on a data diet" (NeurIPS 2021).
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from lens_engine.language_model.fine_tuning.evidence import Evidence
from lens_engine.methods.coreset.group_choice import choose_highest
from lens_engine.types import FloatArray


def least_confidence(evidence: Evidence, quotas: tuple[int, ...]) -> list[int]:
    """The lowest probability of the likeliest label."""
    return choose_highest(evidence.groups, quotas, -evidence.probabilities.max(axis=1))


def entropy(evidence: Evidence, quotas: tuple[int, ...]) -> list[int]:
    """The highest entropy of the probabilities, nats."""
    return choose_highest(evidence.groups, quotas, np.asarray(entr(evidence.probabilities).sum(axis=1)))


def margin(evidence: Evidence, quotas: tuple[int, ...]) -> list[int]:
    """The smallest lead of the likeliest label over the second."""
    ordered = np.sort(evidence.probabilities, axis=1)  # [rows, labels]
    return choose_highest(evidence.groups, quotas, ordered[:, -2] - ordered[:, -1])


def forgetting(evidence: Evidence, quotas: tuple[int, ...]) -> list[int]:
    """The most forgetting events; an example that was never right comes before all others."""
    return choose_highest(evidence.groups, quotas, count_forgetting(evidence.correct_by_epoch))


def grand(evidence: Evidence, quotas: tuple[int, ...]) -> list[int]:
    """The largest norm of the final layer's gradient after `early_epochs` of training, a mean over runs.

    That is after the first epoch unless `FineTuningOptions` says otherwise, and by the same weights for all rows.
    The paper takes the gradient by all weights; DeepCore the final layer's, as here.
    """
    return choose_highest(evidence.groups, quotas, evidence.early_gradient_norms.mean(axis=0))


def count_forgetting(correct_by_epoch: NDArray[np.bool_]) -> FloatArray:
    """Times each example was right in one epoch and wrong in the next  # [rows]; infinite if it was never right."""
    events = (correct_by_epoch[:-1] & ~correct_by_epoch[1:]).sum(axis=0).astype(np.float64)
    return np.where(correct_by_epoch.any(axis=0), events, np.inf)
