"""The cheap rival: logistic regression on the words of a text. It needs no language model and takes about a second."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import log_softmax

from lens_engine.classifier.heads import LEAST_LOG_PROB
from lens_engine.classifier.quality import gold_losses
from lens_engine.classifier.regression import Regression, cut_folds, fit_regression
from lens_engine.types import FloatArray, IndexArray

_INVERSE_L2 = (1.0, 10.0, 100.0)
"""Grid of the inverse strength of L2; TF-IDF rows have length 1, so it is larger than for standardised features."""


def predict_by_words(texts: Sequence[str], gold: IndexArray, asked: Sequence[str], num_labels: int) -> FloatArray:
    """Fit TF-IDF (one and two words) with logistic regression, and classify other texts.

    The strength of L2 is chosen by cross-validated log-loss. Texts without words count as one word each.

    Args:
        texts: labelled texts.
        gold: `[texts]`, index of each text's label.
        asked: texts to classify.

    Returns:
        `class_log_probs  # [asked, labels]`, natural log.
    """
    vectorizer = _make_vectorizer()
    features, asked_features = vectorizer.fit_transform(texts), vectorizer.transform(asked)

    def loss(inverse_l2: float) -> float:
        return float(gold_losses(_hold_out(features, gold, num_labels, inverse_l2), gold).sum())

    return _predict(fit_regression(features, gold, num_labels, min(_INVERSE_L2, key=loss)), asked_features)


def estimate_accuracy(texts: Sequence[str], gold: IndexArray, num_labels: int) -> float:
    """Cross-validated accuracy of a bag of words on labelled texts, with one strength of L2; about a second."""
    features = _make_vectorizer().fit_transform(texts)
    found = _hold_out(features, gold, num_labels, _INVERSE_L2[1])
    return float((found.argmax(axis=1) == gold).mean())


def _make_vectorizer() -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer  # slow to import; only a report needs it

    return TfidfVectorizer(  # type: ignore[no-untyped-call]
        ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\b\w+\b|^\W+$"
    )


def _hold_out(features: Any, gold: IndexArray, num_labels: int, inverse_l2: float) -> FloatArray:
    """`[rows, labels]`, class log-probabilities of each row by a fit without the row's fold."""
    found = np.empty((len(gold), num_labels))
    for held_out, rest in cut_folds(gold):
        found[held_out] = _predict(
            fit_regression(features[rest], gold[rest], num_labels, inverse_l2), features[held_out]
        )
    return found


def _predict(regression: Regression, features: Any) -> FloatArray:
    scores = features @ regression.weights.T + regression.intercepts
    return np.asarray(np.maximum(log_softmax(scores, axis=1), LEAST_LOG_PROB))
