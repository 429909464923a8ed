"""Multinomial logistic regression with L2, and the folds of its cross-validation."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from lens_engine.types import FloatArray, IndexArray

LEAST_LOG_PROB = float(np.log(1e-6))
"""Floor of a class log-probability: a regression gives a label that no fit row has the probability 0."""


BLOCK_ROWS = 4_096
"""Number of rows whose log-probabilities are worked out at a time: 6 MiB for 200 labels."""


def list_blocks(num_rows: int) -> list[slice]:
    """The rows of each block, in order."""
    return [slice(start, start + BLOCK_ROWS) for start in range(0, num_rows, BLOCK_ROWS)]


def normalise(scores: FloatArray) -> FloatArray:
    """Scores of labels -> class log-probabilities (natural log): `[rows, labels]`."""
    from scipy.special import log_softmax  # slow to import

    return np.asarray(np.maximum(log_softmax(scores, axis=1), LEAST_LOG_PROB))


def round_numbers(numbers: FloatArray | Sequence[float], digits: int = 6) -> tuple[float, ...]:
    """Numbers with fewer significant digits, as a file holds them; adding zero makes -0.0 a 0.0."""
    return tuple(float(f"{number:.{digits}g}") + 0.0 for number in numbers)


STATES_INVERSE_L2 = (0.01, 0.03, 0.1)
"""Grid of the inverse strength of L2 for standardised hidden states, which have hundreds of dimensions."""

EMBEDDINGS_INVERSE_L2 = (0.01, 0.1, 1.0)
"""The same for standardised sentence embeddings."""

_LEAST_SPREAD = 1e-6
"""Least standard deviation of a feature, as a share of the largest: what varies less is noise of 32-bit floats."""
_FOLDS = 5
_FEW_ROWS, _CUTS = 100, 3
"""Number of rows below which the folds are cut several times, and how often."""
_NEVER = -1e3
"""Intercept of a label that no row has; JSON has no infinity."""


class Regression(NamedTuple):
    """Scores of the labels are `features @ weights.T + intercepts`."""

    weights: FloatArray  #: `[labels, features]`
    intercepts: FloatArray  #: `[labels]`

    def predict(self, features: Any) -> FloatArray:
        """`[rows, features]` -> class log-probabilities `[rows, labels]`."""
        return normalise(features @ self.weights.T + self.intercepts)


def fit_regression(features: Any, gold: IndexArray, num_labels: int, inverse_l2: float) -> Regression:
    """Fit on rows `[rows, features]`, an array or a sparse matrix; a label that no row has is never predicted."""
    from sklearn.linear_model import LogisticRegression  # slow to import; a user of the types does not need it

    weights, intercepts = np.zeros((num_labels, features.shape[1])), np.full(num_labels, _NEVER)
    known = np.unique(gold)
    if len(known) == 1:
        intercepts[known] = 0.0
        return Regression(weights, intercepts)
    regression: Any = LogisticRegression(C=inverse_l2, solver="newton-cg", max_iter=200)  # type: ignore[no-untyped-call]
    # The matrices are small: threads would only wait for each other.
    with _threads().limit(limits=1), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)  # few rows a label are usual
        regression.fit(features, gold)
    if len(known) == 2:  # one row of coefficients: the log-odds of the second label
        weights[known[1]], intercepts[known] = regression.coef_[0], (0.0, regression.intercept_[0])
    else:
        weights[known], intercepts[known] = regression.coef_, regression.intercept_
    return Regression(weights, intercepts)


def fit_standardised(features: Any, gold: IndexArray, num_labels: int, inverse_l2: float) -> Regression:
    """As `fit_regression`, on features of mean 0 and standard deviation 1; the weights are for features as they are."""
    features = np.asarray(features, dtype=np.float64)
    means, scales = features.mean(axis=0), features.std(axis=0)
    scales = np.where(scales > _LEAST_SPREAD * scales.max(), scales, 1.0)
    fitted = fit_regression((features - means) / scales, gold, num_labels, inverse_l2)
    weights = fitted.weights / scales
    return Regression(weights, fitted.intercepts - weights @ means)


@cache
def _threads() -> Any:
    """Finds the libraries with threads once, which takes 10 ms."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()  # type: ignore[no-untyped-call]


def hold_out(
    gold: IndexArray, num_labels: int, predict: Callable[[IndexArray, IndexArray], FloatArray], cuts: int | None = None
) -> FloatArray:
    """`[rows, labels]`, class log-probabilities of each row by fits without the row's fold.

    While rows are few, the folds are cut several times, and the probabilities of a row are averaged.

    Args:
        predict: fits on the first rows, and gives the class log-probabilities of the second.
        cuts: how often the folds are cut; None for one time, or for three with fewer than 100 rows.
    """
    cuts = cuts or (_CUTS if len(gold) < _FEW_ROWS else 1)
    found = np.empty((cuts, len(gold), num_labels))
    for cut in range(cuts):
        for held_out, rest in cut_folds(gold, cut):
            found[cut, held_out] = predict(rest, held_out)
    return found[0] if cuts == 1 else np.asarray(np.log(np.exp(found).mean(axis=0)))


def cut_folds(gold: IndexArray, cut: int = 0) -> Iterator[tuple[IndexArray, IndexArray]]:
    """The rows of each fold, and the rows outside it; label-stratified, and the same for the same labels and cut."""
    order = np.arange(len(gold)) if not cut else np.random.default_rng(cut).permutation(len(gold))
    fold_of = np.empty(len(gold), dtype=np.intp)
    fold_of[order[np.argsort(gold[order], kind="stable")]] = np.arange(len(gold)) % _FOLDS
    for fold in range(min(_FOLDS, len(gold))):
        yield np.flatnonzero(fold_of == fold), np.flatnonzero(fold_of != fold)
