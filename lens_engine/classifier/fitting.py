"""Fits heads on labelled rows, and cross-validates them."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from lens_engine.classifier.bag_of_words import FittedWords
from lens_engine.classifier.heads import (
    ArgmaxHead,
    Head,
    HeadKind,
    LinearHead,
    PriorHead,
    PromptsHead,
    WordsHead,
    add_words,
    log_label_shares,
    mean_within_labels,
    prior_biases,
    side_by_side,
)
from lens_engine.classifier.quality import gold_losses
from lens_engine.classifier.regression import INVERSE_L2, fit_regression, hold_out
from lens_engine.types import FloatArray, IndexArray, LabelLogProbs

_LEAST_ROWS = 5
_LOG_TEMPERATURES = (-4.0, 5.0)
"""Range of the log of a temperature. With many prompts, a label log-probability may be far too sure or too unsure."""
_LEAST_ROWS_PER_LABEL = 2
"""Fewest fit rows per label, on average, with which `linear` is fitted."""


def can_fit(kind: HeadKind, num_rows: int, num_labels: int) -> bool:
    """Whether there are enough fit rows for this head. A regression has a weight for each pair of labels and prompt."""
    return kind not in ("linear", "words") or num_rows >= max(_LEAST_ROWS, _LEAST_ROWS_PER_LABEL * num_labels)


class FittedHead(NamedTuple):
    """A head, and how well it does without the rows that it is judged on."""

    head: Head
    losses: FloatArray  #: `[rows]` (nats), each under a head that was fitted without the row's fold


def fit_head(
    kind: HeadKind, label_log_probs: LabelLogProbs | FloatArray, gold: IndexArray, words: FittedWords | None = None
) -> FittedHead:
    """Fit a head on labelled rows, and cross-validate it.

    The folds are label-stratified and depend only on the order of the rows. The strength of the L2 penalty of `linear`
    is the best of a short grid by cross-validated log-loss. `words` is fitted on what the bag of words says of each row
    without the row's fold (stacking; Wolpert, 1992).

    Args:
        label_log_probs: `[prompts, rows, labels]`.
        gold: `[rows]`, index of each row's label.
        words: a bag of words of the same rows; needed for the head `words`.
    """
    if kind == "words":
        if words is None:
            raise ValueError("the head words needs a bag of words")
        linear = fit_head("linear", add_words(label_log_probs, words.held_out), gold)
        assert isinstance(linear.head, LinearHead)
        return FittedHead(WordsHead(linear=linear.head, bag_of_words=words.regression), linear.losses)
    if kind != "linear":
        return FittedHead(_FITS[kind](label_log_probs, gold), cross_validate(kind, label_log_probs, gold))
    losses = {c: cross_validate_linear(label_log_probs, gold, c) for c in INVERSE_L2}
    best = min(INVERSE_L2, key=lambda c: float(losses[c].mean()))
    return FittedHead(_fit_linear(label_log_probs, gold, best), losses[best])


def cross_validate(
    kind: Literal["argmax", "prior"], label_log_probs: LabelLogProbs | FloatArray, gold: IndexArray
) -> FloatArray:
    """`[rows]`, loss of each row (nats) under a head that was fitted without the row's fold."""
    return _held_out_losses(_FITS[kind], label_log_probs, gold)


def cross_validate_linear(
    label_log_probs: LabelLogProbs | FloatArray, gold: IndexArray, inverse_l2: float
) -> FloatArray:
    """As `cross_validate`, of `linear` at one strength of L2."""
    return _held_out_losses(lambda x, y: _fit_linear(x, y, inverse_l2), label_log_probs, gold)


def _fit_argmax(label_log_probs: LabelLogProbs | FloatArray, gold: IndexArray) -> ArgmaxHead:
    return ArgmaxHead(temperature=_fit_temperature(mean_within_labels(label_log_probs), gold))


def _fit_prior(label_log_probs: LabelLogProbs | FloatArray, gold: IndexArray) -> PriorHead:
    biases = prior_biases(label_log_probs, log_label_shares(gold, label_log_probs.shape[2]))
    corrected = mean_within_labels(label_log_probs + biases[:, None, :])
    return PriorHead(biases=_rows(biases), temperature=_fit_temperature(corrected, gold))


_FITS: dict[Literal["argmax", "prior"], Callable[[LabelLogProbs | FloatArray, IndexArray], PromptsHead]] = {
    "argmax": _fit_argmax,
    "prior": _fit_prior,
}


def _fit_temperature(scores: FloatArray, gold: IndexArray) -> float:
    """The temperature with the least log-loss (Guo et al., "On Calibration of Modern Neural Networks", ICML 2017).

    Args:
        scores: `[rows, labels]`, divided by the temperature before they are normalised.
    """
    of_gold = np.take_along_axis(scores, gold[:, None], axis=1)
    behind = scores - of_gold  # the loss of a row is the log of the sum of exp(behind / temperature)
    most = behind.max(axis=1)

    def loss(log_temperature: float) -> float:
        inverse = np.exp(-log_temperature)
        rest = np.exp((behind - most[:, None]) * inverse).sum(axis=1)
        return float((most * inverse + np.log(rest)).mean())

    found = minimize_scalar(loss, bounds=_LOG_TEMPERATURES, method="bounded", options={"xatol": 1e-3})
    return float(np.exp(found.x))


def _fit_linear(label_log_probs: LabelLogProbs | FloatArray, gold: IndexArray, inverse_l2: float) -> LinearHead:
    features, num_labels = side_by_side(label_log_probs), label_log_probs.shape[2]
    means, scales = features.mean(axis=0), features.std(axis=0)
    scales = np.where(scales > 0.0, scales, 1.0)
    weights, intercepts = fit_regression((features - means) / scales, gold, num_labels, inverse_l2)
    return LinearHead(
        means=tuple((means + 0.0).tolist()),
        scales=tuple(scales.tolist()),
        weights=_rows(weights),
        intercepts=tuple((intercepts + 0.0).tolist()),
        inverse_l2=inverse_l2,
    )


def _held_out_losses(
    fit: Callable[[FloatArray, IndexArray], PromptsHead], label_log_probs: LabelLogProbs | FloatArray, gold: IndexArray
) -> FloatArray:
    """`[rows]`, loss of each row (nats) under a head that was fitted without the row's fold."""

    def predict(rest: IndexArray, held_out: IndexArray) -> FloatArray:
        head = fit(np.asarray(label_log_probs[:, rest], dtype=np.float64), gold[rest])
        return head.class_log_probs(label_log_probs[:, held_out])

    return gold_losses(hold_out(gold, label_log_probs.shape[2], predict), gold)


def _rows(matrix: FloatArray) -> tuple[tuple[float, ...], ...]:
    """Rows as JSON holds them; adding zero makes -0.0 a 0.0, because a database may not tell them apart."""
    return tuple(tuple(row) for row in (matrix + 0.0).tolist())
