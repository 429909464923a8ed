"""InfoScore: how informative one example is as the only demonstration (section 3.1, Eq. 2 and 3)."""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import log_softmax

from lens_engine.config import Contribution
from lens_engine.types import FloatArray, IndexArray, LabelLogProbs


def contributions(
    kind: Contribution,
    one_shot: LabelLogProbs | FloatArray,
    zero_shot: LabelLogProbs | FloatArray,
    gold: IndexArray,
    span_tokens: Sequence[int],
) -> FloatArray:
    """c(e, e') of each candidate e to each score example e'.

    Args:
        kind: "label" (gold label's probability within the label set), "vocabulary" (Eq. 3 to the
            letter) or "loss_ratio" (gold loss over the sum of all labels' losses, the loss being the
            mean over the span's tokens).
        one_shot: `[candidates, score_examples, labels]`, each candidate the only demonstration.
        zero_shot: `[score_examples, labels]`; both may be calibrated, for "label".
        gold: `[score_examples]`, index of each score example's label.
        span_tokens: tokens of each label's span.

    Returns:
        `contributions  # [candidates, score_examples]` float64; more is better in all three.
    """
    goodness = _GOODNESS[kind]
    tokens = np.asarray(span_tokens, dtype=np.float64)
    with_demonstration = goodness(one_shot.astype(np.float64), gold, tokens)
    without = goodness(zero_shot.astype(np.float64)[None], gold, tokens)
    return with_demonstration - without


def info_scores(matrix: FloatArray) -> FloatArray:
    """I(e, S): each candidate's mean contribution to the score set.

    The paper sums; a mean has the same order and does not grow with the score set. Pairs of an example
    with itself, which the paper leaves out, do not occur: candidates and score set are disjoint.

    Args:
        matrix: `[candidates, score_examples]`.

    Returns:
        `info_scores  # [candidates]`.
    """
    return np.asarray(matrix.mean(axis=1))


def _gold(values: FloatArray, gold: IndexArray) -> FloatArray:
    return np.asarray(np.take_along_axis(values, gold[None, :, None], axis=2)[..., 0])


def _label_goodness(log_probs: FloatArray, gold: IndexArray, _: FloatArray) -> FloatArray:
    return np.asarray(np.exp(_gold(log_softmax(log_probs, axis=2), gold)))


def _vocabulary_goodness(log_probs: FloatArray, gold: IndexArray, _: FloatArray) -> FloatArray:
    return np.asarray(np.exp(_gold(log_probs, gold)))


def _loss_ratio_goodness(log_probs: FloatArray, gold: IndexArray, tokens: FloatArray) -> FloatArray:
    losses = -log_probs / tokens
    return np.asarray(-_gold(losses, gold) / losses.sum(axis=2))


_GOODNESS: dict[Contribution, Callable[[FloatArray, IndexArray, FloatArray], FloatArray]] = {
    "label": _label_goodness,
    "vocabulary": _vocabulary_goodness,
    "loss_ratio": _loss_ratio_goodness,
}
