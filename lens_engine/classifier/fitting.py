"""Fits heads on labelled rows, and cross-validates them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lens_engine.classifier import heads
from lens_engine.classifier.quality import gold_losses, standard_error
from lens_engine.classifier.regression import (
    EMBEDDINGS_INVERSE_L2,
    STATES_INVERSE_L2,
    fit_standardised,
    hold_out,
    round_numbers,
)
from lens_engine.prompt.embedder import EmbedderRecord
from lens_engine.types import POOLINGS, FloatArray, IndexArray, LabelLogProbs, States

_LEAST_ROWS = 5
_FEW_ROWS = 200
"""Number of fit rows below which the choice of layer, pooling and strength is cross-validated too."""
_LOG_TEMPERATURES = (-4.0, 5.0)
"""Range of the log of a temperature."""
_LEAST_ROWS_PER_LABEL = 2
"""Fewest fit rows per label, on average, with which a regression is fitted."""
_WORDS_WEIGHTS = tuple(tenth / 10 for tenth in range(1, 10))
"""Grid of the weight of a bag of words beside states. The ends, 0 and 1, are candidates of their own."""


def can_fit_states(num_rows: int, num_labels: int) -> bool:
    """Whether there are enough fit rows for a regression on states."""
    return num_rows >= max(_LEAST_ROWS, _LEAST_ROWS_PER_LABEL * num_labels)


class FittedHead(NamedTuple):
    """A head, and what it says of the rows that it was fitted on, each without its fold."""

    head: heads.PromptsHead | heads.StatesHead
    held_out: FloatArray  #: class_log_probs  # [rows, labels]


def fit_prompts_head(label_log_probs: LabelLogProbs | FloatArray, gold: IndexArray) -> FittedHead:
    """The simplest head on this prompt within one standard error of the best cross-validated log-loss.

    The folds are label-stratified and depend only on the order of the rows.

    Args:
        label_log_probs: `[1, rows, labels]` on the fit rows.
        gold: `[rows]`, index of each row's label.
    """
    fitted = [fit_head(kind, label_log_probs, gold) for kind in heads.PROMPTS_HEAD_KINDS]
    losses = [gold_losses(one.held_out, gold) for one in fitted]
    return fitted[first_within_an_error(losses)]


def first_within_an_error(losses: Sequence[FloatArray]) -> int:
    """The first whose mean exceeds the lowest by at most one standard error of the difference, paired by row."""
    best = min(losses, key=lambda one: float(one.mean()))
    behind = (one - best for one in losses)
    return next(place for place, one in enumerate(behind) if one.mean() <= standard_error(one))


def fit_head(kind: heads.PromptsHeadKind, label_log_probs: LabelLogProbs | FloatArray, gold: IndexArray) -> FittedHead:
    """Fit a head on `[1, rows, labels]` with gold labels `[rows]`, and cross-validate it."""
    return FittedHead(_FITS[kind](label_log_probs, gold), _hold_out(_FITS[kind], label_log_probs, gold))


def fit_states_head(states: States, layers: Sequence[int], gold: IndexArray, num_labels: int) -> FittedHead:
    """Fit logistic regression on hidden states; layer, pooling and strength of L2 are the best by cross-validation.

    While rows are few, a row has no part in that choice either when it is held out: the best of twelve on few rows is
    better on them than on others.

    Args:
        states: `[layers, poolings, rows, size]` on the fit rows.
        layers: numbers of the layers.
        gold: `[rows]`, index of each row's label.
    """

    def predict(rest: IndexArray, held_out: IndexArray) -> FloatArray:
        place, inverse_l2, _ = _choose_states(states[:, :, rest], gold[rest], num_labels)
        features = states[place]
        return fit_standardised(features[rest], gold[rest], num_labels, inverse_l2).predict(features[held_out])

    place, best, held_out = _choose_states(states, gold, num_labels)
    if len(gold) < _FEW_ROWS:
        held_out = hold_out(gold, num_labels, predict)
    regression = fit_standardised(states[place], gold, num_labels, best)
    head = heads.StatesHead(
        layer=layers[place[0]],
        pooling=POOLINGS[place[1]],
        weights=tuple(map(round_numbers, regression.weights)),
        intercepts=round_numbers(regression.intercepts),
        inverse_l2=best,
    )
    return FittedHead(head, held_out)


def _choose_states(states: States, gold: IndexArray, num_labels: int) -> tuple[tuple[int, ...], float, FloatArray]:
    """The best place `(layer, pooling)` and inverse strength of L2, and what is held out with them.

    Layer and pooling are compared at the middle strength, and strengths at the best of these: a fit for each
    combination would take three times as long.
    """

    def hold_out_at(place: tuple[int, ...], inverse_l2: float) -> FloatArray:
        return _hold_out_regression(states[place], gold, num_labels, inverse_l2)

    def loss(held_out: FloatArray) -> float:
        return float(gold_losses(held_out, gold).mean())

    weakest, middle, strongest = STATES_INVERSE_L2
    at_middle = {place: hold_out_at(place, middle) for place in np.ndindex(*states.shape[:2])}
    place = min(at_middle, key=lambda one: loss(at_middle[one]))
    held_out = {middle: at_middle[place], **{c: hold_out_at(place, c) for c in (weakest, strongest)}}
    best = min(held_out, key=lambda c: loss(held_out[c]))
    return place, best, held_out[best]


def fit_embeddings_head(
    vectors: NDArray[np.float32], gold: IndexArray, num_labels: int, embedder: EmbedderRecord
) -> tuple[heads.EmbeddingsHead, FloatArray]:
    """Fit logistic regression on sentence embeddings; the strength of L2 is the best by cross-validation.

    Args:
        vectors: `[rows, size]`, as this embedder gives them.
        gold: `[rows]`, index of each row's label.

    Returns:
        The head, and what it says of the rows, each without its fold  # class_log_probs  # [rows, labels].
    """
    held_out = {c: _hold_out_regression(vectors, gold, num_labels, c) for c in EMBEDDINGS_INVERSE_L2}
    best = min(held_out, key=lambda c: float(gold_losses(held_out[c], gold).mean()))
    regression = fit_standardised(vectors, gold, num_labels, best)
    head = heads.EmbeddingsHead(
        embedder=embedder,
        weights=tuple(map(round_numbers, regression.weights)),
        intercepts=round_numbers(regression.intercepts),
        inverse_l2=best,
    )
    return head, held_out[best]


def _hold_out_regression(features: NDArray[Any], gold: IndexArray, num_labels: int, inverse_l2: float) -> FloatArray:
    """`[rows, labels]`, class log-probabilities of each row by a regression without the row's fold."""

    def predict(rest: IndexArray, held_out: IndexArray) -> FloatArray:
        return fit_standardised(features[rest], gold[rest], num_labels, inverse_l2).predict(features[held_out])

    return hold_out(gold, num_labels, predict, cuts=1)


def fit_words_weight(by_states: FloatArray, by_words: FloatArray, gold: IndexArray) -> tuple[float, FloatArray]:
    """The weight of a bag of words beside states that has the least log-loss, and the pool's log-probabilities.

    Both are `[rows, labels]`, of each row under a head that was fitted without the row's fold.
    """
    pools = {weight: heads.pool_log_probs(by_states, by_words, weight) for weight in _WORDS_WEIGHTS}
    best = min(pools, key=lambda weight: float(gold_losses(pools[weight], gold).mean()))
    return best, pools[best]


def _fit_argmax(label_log_probs: LabelLogProbs | FloatArray, gold: IndexArray) -> heads.ArgmaxHead:
    return heads.ArgmaxHead(temperature=_fit_temperature(heads.mean_within_labels(label_log_probs), gold))


def _fit_prior(label_log_probs: LabelLogProbs | FloatArray, gold: IndexArray) -> heads.PriorHead:
    log_shares = heads.log_label_shares(gold, label_log_probs.shape[2])
    biases = np.asarray(log_shares - label_log_probs.astype(np.float64).mean(axis=1))  # [prompts, labels]
    corrected = heads.mean_within_labels(label_log_probs + biases[:, None, :])
    return heads.PriorHead(biases=heads.as_rows(biases), temperature=_fit_temperature(corrected, gold))


_Fit = Callable[[LabelLogProbs | FloatArray, IndexArray], heads.PromptsHead]

_FITS: dict[heads.PromptsHeadKind, _Fit] = {"argmax": _fit_argmax, "prior": _fit_prior}


def _fit_temperature(scores: FloatArray, gold: IndexArray) -> float:
    """The temperature of scores `[rows, labels]` with the least log-loss.

    Guo et al., "On Calibration of Modern Neural Networks" (ICML 2017).
    """
    from scipy.optimize import minimize_scalar  # slow to import

    of_gold = np.take_along_axis(scores, gold[:, None], axis=1)
    behind = scores - of_gold  # the loss of a row is the log of the sum of exp(behind / temperature)
    most = behind.max(axis=1)

    def loss(log_temperature: float) -> float:
        inverse = np.exp(-log_temperature)
        rest = np.exp((behind - most[:, None]) * inverse).sum(axis=1)
        return float((most * inverse + np.log(rest)).mean())

    found = minimize_scalar(loss, bounds=_LOG_TEMPERATURES, method="bounded", options={"xatol": 1e-3})
    return float(np.exp(found.x))


def _hold_out(fit: _Fit, label_log_probs: LabelLogProbs | FloatArray, gold: IndexArray) -> FloatArray:
    """`[rows, labels]`, class log-probabilities of each row under a head that was fitted without the row's fold."""

    def predict(rest: IndexArray, held_out: IndexArray) -> FloatArray:
        head = fit(np.asarray(label_log_probs[:, rest], dtype=np.float64), gold[rest])
        return head.class_log_probs(label_log_probs[:, held_out])

    return hold_out(gold, label_log_probs.shape[2], predict)
