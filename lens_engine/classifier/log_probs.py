"""Class log-probabilities: how scores of labels become them."""

import numpy as np
from scipy.special import log_softmax

from lens_engine.types import FloatArray

LEAST_LOG_PROB = float(np.log(1e-6))
"""Floor of a class log-probability: a regression gives a label that no fit row has the probability 0."""


def normalise(scores: FloatArray) -> FloatArray:
    """Scores of labels -> class log-probabilities (natural log): `[rows, labels]`."""
    return np.asarray(np.maximum(log_softmax(scores, axis=1), LEAST_LOG_PROB))
