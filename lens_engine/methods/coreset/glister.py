"""Glister: examples that lower the loss on the validation rows when trained on.

Killamsetty et al., "GLISTER: generalization based data subset selection for efficient and robust learning"
(AAAI 2021): greedy on the validation loss after one gradient step of the final layer, by its first-order Taylor
expansion. Here the loss is that of all validation rows, and the quotas say which groups are still open.
"""

import numpy as np
from scipy.special import softmax

from lens_engine.errors import InvalidConfig
from lens_engine.language_model.fine_tuning.evidence import Evidence, LabelledRows
from lens_engine.methods.coreset.group_choice import first_best, partition
from lens_engine.types import FloatArray

_LEAST_PROBABILITY = 1e-12
"""A probability that float32 rounded to zero still has a logarithm."""


def glister(evidence: Evidence, quotas: tuple[int, ...]) -> list[int]:
    """Each pick promises the largest fall of the validation loss, and the final layer takes its step.

    Raises:
        InvalidConfig: there are no validation rows.
    """
    if evidence.validation is None or not len(evidence.validation):
        raise InvalidConfig(
            "the method glister chooses by validation rows, and got none; give it some, or use another method",
            field="options.splits.validation",
        )
    return _descend(evidence, evidence.validation, quotas, step_size(evidence.features))


def step_size(features: FloatArray) -> float:
    """One over the mean squared norm of a feature, so that a step moves logits by about p - y.

    The learning rate of fine-tuning is far too small for one example to change the validation gradient.
    """
    mean_square = float(np.mean(np.sum(features**2, axis=1)))
    return 1.0 / mean_square if mean_square else 0.0


def _descend(evidence: Evidence, validation: LabelledRows, quotas: tuple[int, ...], step: float) -> list[int]:
    # Softmax is blind to a constant for each row, so log-probabilities serve as logits.
    logits = np.log(np.maximum(validation.probabilities, _LEAST_PROBABILITY))  # [validation rows, labels]
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
    """Gradient of the mean cross-entropy by the final layer  # [labels, size], given logits `[rows, labels]`."""
    residuals = softmax(logits, axis=1)
    residuals[np.arange(len(rows)), rows.groups] -= 1.0
    return np.asarray(residuals.T @ rows.features / len(rows))
