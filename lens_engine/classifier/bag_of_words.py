"""A bag of words: TF-IDF of one and two words, with logistic regression. It needs no language model.

It is the cheap rival of a classifier, and a part of the head `words`.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from pydantic import Field

from lens_engine.classifier.log_probs import normalise
from lens_engine.classifier.quality import gold_losses
from lens_engine.classifier.regression import Regression, fit_regression, hold_out
from lens_engine.types import FloatArray, IndexArray, Record

_INVERSE_L2 = (1.0, 10.0, 100.0)
"""Grid of the inverse strength of L2; TF-IDF rows have length 1, so it is larger than for standardised features."""

MOST_TERMS, MOST_TERMS_ALONE, _MOST_WEIGHTS = 5_000, 50_000, 100_000
"""Largest size of a bag of words beside prompts, and without prompts: some 50 bytes a term, 15 bytes a weight."""

_MOST_CHARACTERS = 100
"""Longest term (characters): a text without words counts as one term, whatever its length."""

_DIGITS = 6
"""Significant digits of a number that a classifier holds."""


class WordRegression(Record):
    """Terms with their weights. A term is a word, or two words with a space between them, in lower case."""

    terms: tuple[str, ...] = Field(min_length=1, description="Terms, sorted.")
    idf: tuple[float, ...] = Field(description="Inverse document frequency of each term, smoothed (Scikit-learn).")
    weights: tuple[tuple[float, ...], ...] = Field(
        description="Weights: a list for each label, a number for each term. Features are (1 + log count) * idf, "
        "divided by the length of their vector."
    )
    intercepts: tuple[float, ...] = Field(description="Intercept of each label.")

    @classmethod
    def of(cls, vectorizer: Any, regression: Regression) -> Self:
        """The bag of words of a fitted vectorizer and a regression on its features."""
        return cls(
            terms=tuple(vectorizer.get_feature_names_out().tolist()),
            idf=_round(vectorizer.idf_),
            weights=tuple(map(_round, regression.weights)),
            intercepts=_round(regression.intercepts),
        )

    def class_log_probs(self, texts: Sequence[str]) -> FloatArray:
        """`[texts, labels]`, natural log."""
        if not len(texts):
            return np.empty((0, len(self.intercepts)))
        return _predict(self._regression, self._vectorizer.transform(texts))

    def fits_shape(self, num_labels: int) -> bool:
        """Whether the numbers are for these terms and this many labels."""
        by_term = [self.idf, *self.weights]
        return [len(row) for row in by_term] == [len(self.terms)] * (1 + num_labels) and (
            len(self.intercepts) == num_labels and list(self.terms) == sorted(set(self.terms))
        )

    @cached_property
    def _regression(self) -> Regression:
        return Regression(np.array(self.weights), np.array(self.intercepts))

    @cached_property
    def _vectorizer(self) -> Any:
        vectorizer = _make_vectorizer(vocabulary=list(self.terms))
        vectorizer.idf_ = np.array(self.idf)
        return vectorizer


class FittedWords(NamedTuple):
    """A bag of words, and what it says of the rows that it was fitted on, each without its fold."""

    regression: WordRegression
    held_out: FloatArray  #: class_log_probs  # [rows, labels]


def fit_bag_of_words(
    texts: Sequence[str], gold: IndexArray, num_labels: int, most_terms: int = MOST_TERMS
) -> FittedWords:
    """Fit TF-IDF (one and two words) with logistic regression, on the most frequent terms.

    The strength of L2 is chosen by cross-validated log-loss. Terms and their document frequencies are those of all
    texts; a held-out text has no part in its regression. Texts without words count as one word each.

    Args:
        texts: labelled texts.
        gold: `[texts]`, index of each text's label.
        most_terms: largest number of terms; 100,000 weights may lower it.
    """
    terms = _choose_terms(texts, min(most_terms, max(_MOST_WEIGHTS // num_labels, 1)))
    vectorizer = _make_vectorizer(vocabulary=terms)
    features = vectorizer.fit_transform(texts)
    regression, held_out = _fit(features, gold, num_labels)
    return FittedWords(WordRegression.of(vectorizer, regression), held_out)


def estimate_accuracy(texts: Sequence[str], gold: IndexArray, num_labels: int) -> float:
    """Cross-validated accuracy of a bag of words on labelled texts, with one strength of L2; about a second."""
    features = _make_vectorizer().fit_transform(texts)
    found = _hold_out(features, gold, num_labels, _INVERSE_L2[1])
    return float((found.argmax(axis=1) == gold).mean())


def _make_vectorizer(**more: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer  # slow to import; a user of the types does not need it

    return TfidfVectorizer(  # type: ignore[no-untyped-call]
        ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\b\w+\b|^\W+$", **more
    )


def _choose_terms(texts: Sequence[str], most: int) -> list[str]:
    """The most frequent terms, sorted. Of equally frequent ones, the first in the order of their characters.

    Scikit-learn (`max_features`) sorts by count alone, and ties fall as the processor's instructions have it.
    """
    analyse = _make_vectorizer().build_analyzer()
    counts = Counter(term for text in texts for term in analyse(text))
    short = [term for term in counts if len(term) <= _MOST_CHARACTERS] or [
        min(counts, key=lambda term: (len(term), term))
    ]
    return sorted(sorted(short, key=lambda term: (-counts[term], term))[:most])


def _fit(features: Any, gold: IndexArray, num_labels: int) -> tuple[Regression, FloatArray]:
    """The regression of the best strength of L2, and its held-out class log-probabilities."""
    held_out = {c: _hold_out(features, gold, num_labels, c) for c in _INVERSE_L2}
    best = min(_INVERSE_L2, key=lambda c: float(gold_losses(held_out[c], gold).sum()))
    return fit_regression(features, gold, num_labels, best), held_out[best]


def _hold_out(features: Any, gold: IndexArray, num_labels: int, inverse_l2: float) -> FloatArray:
    def predict(rest: IndexArray, held_out: IndexArray) -> FloatArray:
        return _predict(fit_regression(features[rest], gold[rest], num_labels, inverse_l2), features[held_out])

    return hold_out(gold, num_labels, predict)


def _predict(regression: Regression, features: Any) -> FloatArray:
    return normalise(features @ regression.weights.T + regression.intercepts)


def _round(numbers: FloatArray) -> tuple[float, ...]:
    """Fewer digits, as a file holds them; adding zero makes -0.0 a 0.0."""
    return tuple(float(f"{number:.{_DIGITS}g}") + 0.0 for number in numbers)
