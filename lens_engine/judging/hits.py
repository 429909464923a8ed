"""Rows that a prompt has right, under one use, and the lead of one prompt over another on the same rows."""

import numpy as np
from numpy.typing import NDArray

from lens_engine.config import Use
from lens_engine.judging.judgement import Judgement
from lens_engine.judging.objective import find_label_biases


def find_hits(judgement: Judgement, use: Use) -> NDArray[np.bool_]:
    """`[rows]`, which are right: by the likeliest label word or, for probabilities, after biases of these rows."""
    if use == "prompt":
        return judgement.correct
    biased = judgement.label_log_probs.astype(np.float64) + find_label_biases(judgement)
    return np.asarray(biased.argmax(axis=1) == judgement.gold)


def lead_by_an_error(hits: NDArray[np.bool_], others: NDArray[np.bool_]) -> bool:
    """Whether the first has more of the same rows right by more than a standard error of the difference, paired."""
    difference = hits.astype(np.float64) - others
    error = float(difference.std(ddof=1)) / len(difference) ** 0.5 if len(difference) > 1 else 0.0
    return bool(difference.mean() > error)
