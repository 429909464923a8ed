"""Contextual calibration: divide by the probabilities that the model gives for a content-free input.

Zhao et al., "Calibrate Before Use" (ICML 2021), with the diagonal matrix W = diag(p_cf)^-1.
"""

import numpy as np
from scipy.special import log_softmax

from lens_engine.types import FloatArray, LabelLogProbs


def calibrate(label_log_probs: LabelLogProbs, content_free: LabelLogProbs) -> FloatArray:
    """Label log-probabilities after calibration, normalised over the labels.

    Args:
        label_log_probs: `[..., queries, labels]`.
        content_free: `[..., labels]`, after the same prefixes, for the input "N/A".

    Returns:
        `[..., queries, labels]` float64; argmax is the calibrated prediction.
    """
    within = log_softmax(label_log_probs.astype(np.float64), axis=-1)
    bias = log_softmax(content_free.astype(np.float64), axis=-1)
    return np.asarray(log_softmax(within - bias[..., None, :], axis=-1))
