"""The cheap rival: logistic regression on the words of a text. It needs no language model and takes about a second."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import log_softmax

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
    from sklearn.feature_extraction.text import TfidfVectorizer  # slow to import; only a report needs it

    vectorizer: Any = TfidfVectorizer(  # type: ignore[no-untyped-call]
        ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\b\w+\b|^\W+$"
    )
    features, asked_features = vectorizer.fit_transform(texts), vectorizer.transform(asked)

    def loss(inverse_l2: float) -> float:
        return sum(
            float(gold_losses(_predict(fit(rest, inverse_l2), features[held_out]), gold[held_out]).sum())
            for held_out, rest in cut_folds(gold)
        )

    def fit(rows: IndexArray, inverse_l2: float) -> Regression:
        return fit_regression(features[rows], gold[rows], num_labels, inverse_l2)

    return _predict(fit(np.arange(len(gold)), min(_INVERSE_L2, key=loss)), asked_features)


def _predict(regression: Regression, features: Any) -> FloatArray:
    return np.asarray(log_softmax(features @ regression.weights.T + regression.intercepts, axis=1))
