"""Glister: rows whose training step lowers the loss on the validation rows.

Killamsetty et al., "GLISTER: generalization based data subset selection for efficient and robust learning"
(AAAI 2021): greedy on the validation loss after one gradient step of the final layer, by its first-order Taylor
expansion. Here the loss is the mean over all validation rows, and the quotas limit the picks of each group.
"""

import numpy as np
from scipy.special import softmax

from lab.rivals.choosing import LEAST_PROBABILITY, first_best, partition
from lab.rivals.evidence import Evidence, LabelledRows
from lens_engine.errors import InvalidConfig
from lens_engine.types import FloatArray


def glister(evidence: Evidence, quotas: tuple[int, ...]) -> list[int]:
    """Each pick has the largest expected fall of the validation loss; then the final layer takes the pick's step.

    Raises:
        InvalidConfig: there are no validation rows.
    """
    if evidence.validation is None or not len(evidence.validation):
        raise InvalidConfig(
            "the method glister chooses by validation rows, but there are none; add some, or use another method",
            field="options.search.validation",
        )
    return _descend(evidence, evidence.validation, quotas, step_size(evidence.features))


def step_size(features: FloatArray) -> float:
    """Step size: 1 / (mean squared norm of a feature), so that a step moves the logits by about p - y.

    With the learning rate of fine-tuning, a step on one example would hardly change the validation gradient.
    """
    mean_square = float(np.mean(np.sum(features**2, axis=1)))
    return 1.0 / mean_square if mean_square else 0.0


def _descend(evidence: Evidence, validation: LabelledRows, quotas: tuple[int, ...], step: float) -> list[int]:
    # Softmax does not change if a constant is added to a row, so log-probabilities can replace logits.
    logits = np.log(np.maximum(validation.probabilities, LEAST_PROBABILITY))  # [validation rows, labels]
    parts = list(partition(evidence.groups, quotas))
    left = np.array(quotas)
    is_open = np.ones(len(evidence), dtype=bool)
    group_of_row = np.zeros_like(evidence.groups) if len(quotas) == 1 else evidence.groups
    chosen: list[int] = []
    for _ in range(sum(quota for _, quota in parts)):
        gains = evidence.gradients.products_with(_loss_gradient(validation, logits))  # [rows]
        row = first_best(np.where(is_open & (left[group_of_row] > 0), gains, -np.inf))
        chosen.append(row)
        is_open[row] = False
        left[group_of_row[row]] -= 1
        similar = validation.features @ evidence.features[row]  # [validation rows]
        logits -= step * np.outer(similar, evidence.gradients.residuals[row])
    return chosen


def _loss_gradient(rows: LabelledRows, logits: FloatArray) -> FloatArray:
    """Gradient of the mean cross-entropy by the final layer's weights  # [labels, size]; logits `[rows, labels]`."""
    residuals = softmax(logits, axis=1)
    residuals[np.arange(len(rows)), rows.groups] -= 1.0
    return np.asarray(residuals.T @ rows.features / len(rows))
