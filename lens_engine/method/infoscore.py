"""InfoScore: how informative an example is as the only demonstration (Li & Qiu 2023, section 3.1, Eq. 2 and 3)."""

import numpy as np

from lens_engine.config import Contribution
from lens_engine.types import FloatArray, IndexArray, LabelLogProbs


def contributions(
    kind: Contribution, one_shot: LabelLogProbs, zero_shot: LabelLogProbs, gold: IndexArray
) -> FloatArray:
    """c(e, e') of each candidate e to each score example e'.

    Args:
        kind: "label" (the gold label's probability among the labels) or "vocabulary" (exactly Eq. 3).
        one_shot: `[candidates, score_examples, labels]`, with each candidate as the only demonstration.
        zero_shot: `[score_examples, labels]`.
        gold: `[score_examples]`, index of each score example's label.

    Returns:
        `contributions  # [candidates, score_examples]` float64; higher is better for every kind.
    """
    with_demonstration = _read_gold(kind, one_shot.astype(np.float64), gold)
    without = _read_gold(kind, zero_shot.astype(np.float64)[None], gold)
    return with_demonstration - without


def info_scores(matrix: FloatArray) -> FloatArray:
    """I(e, S): each candidate's mean contribution to the score set (Eq. 2).

    The paper takes the sum. The mean has the same order and does not grow with the score set.

    Args:
        matrix: `[candidates, score_examples]`; NaN for the contribution of an example to itself, which is left out.

    Returns:
        `info_scores  # [candidates]`; 0 of one that is the whole score set.
    """
    return np.asarray(np.nansum(matrix, axis=1) / np.maximum((~np.isnan(matrix)).sum(axis=1), 1))


def _read_gold(kind: Contribution, log_probs: FloatArray, gold: IndexArray) -> FloatArray:
    """`[candidates, score_examples]`, the probability of the gold label."""
    from scipy.special import log_softmax  # slow to import

    read = log_softmax(log_probs, axis=2) if kind == "label" else log_probs
    return np.asarray(np.exp(np.take_along_axis(read, gold[None, :, None], axis=2)[..., 0]))
