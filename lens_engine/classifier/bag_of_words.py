"""A bag of words: TF-IDF of words, pairs of words and beginnings of words (`list_terms`), with logistic regression.

It needs no language model, and is the cheapest candidate for a classifier. Its file holds words of the texts, so it
leaves out what points to one row: every word with a digit counts as the same word, and a term of a single row is no
term. Beginnings of words tell much of what rare words told.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from itertools import compress
from typing import Any, NamedTuple, Self

import numpy as np
from pydantic import Field

from lens_engine.classifier.quality import RowFigures, gold_losses, share_of_largest_class
from lens_engine.classifier.regression import Regression, fit_regression, hold_out, list_blocks, round_numbers
from lens_engine.prompt.text_checks import NUMBER, list_terms, measure_text
from lens_engine.rows.plan import spread_evenly
from lens_engine.types import FloatArray, IndexArray, LabelLogProbs, Record

_INVERSE_L2 = (1.0, 10.0, 30.0, 100.0)
"""Grid of the inverse strength of L2; TF-IDF rows have length 1, so it is larger than for standardised features."""

_MOST_TERMS, _MOST_WEIGHTS = 50_000, 400_000
"""Largest size of a bag of words: some 50 bytes a term, 15 bytes a weight."""

_MOST_SCORES, _MOST_ESTIMATE_SCORES = 4_000_000, 1_000_000
"""Rows times labels, at most: of a fit, and of an estimate. At this size a fit holds five arrays of 32 MiB each, and
takes some 25 seconds."""

_MOST_GRID_ROWS = 3_000
"""Largest number of rows on which the strength of L2 is chosen; the regression itself is fitted on more."""

_FEW_ROWS = 1_000
"""Largest number of rows of which an estimate takes what a fit takes: one to three seconds."""

_FEW_CHARACTERS = 1_000_000
"""Largest size of texts (`measure_text`) whose terms are all counted: some 100 bytes of memory a character."""

_NUM_BITS = 2**27
"""Bits by which the terms of larger texts are told apart, twice: 32 MiB."""

_MOST_CHARACTERS = 100
"""Longest term (characters): a text without words counts as one term, whatever its length."""

_LEAST_ROWS = 2
"""Fewest rows that have a term."""


class WordRegression(Record):
    """Terms with their weights, in lower case.

    A term is a word, two words with a space between them, or the first four letters of a longer word and a star; in
    scripts without spaces, one to three characters in a row. Every word with a digit is the word 0. Each term is in at
    least two of the rows on which it was fitted.
    """

    terms: tuple[str, ...] = Field(min_length=1, description="Terms, sorted. The term 0 is every word with a digit.")
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
            idf=round_numbers(vectorizer.idf_),
            weights=tuple(map(round_numbers, regression.weights)),
            intercepts=round_numbers(regression.intercepts),
        )

    def class_log_probs(self, texts: Sequence[str]) -> FloatArray:
        """`[texts, labels]`, natural log."""
        found = np.empty((len(texts), len(self.intercepts)))
        for block in list_blocks(len(texts)):
            found[block] = self._regression.predict(self._vectorizer.transform(texts[block]))
        return found

    def judge(self, texts: Sequence[str], gold: IndexArray) -> RowFigures:
        """What is measured of the answers to one text or more; `gold`: index of each text's label."""
        blocks = list_blocks(len(texts))
        return RowFigures.join([RowFigures.of(self.class_log_probs(texts[one]), gold[one]) for one in blocks])

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
        vectorizer = _make_vectorizer(list(self.terms))
        vectorizer.idf_ = np.array(self.idf)
        return vectorizer


class FittedWords(NamedTuple):
    """A bag of words, and what it says of labelled rows that it has not seen."""

    regression: WordRegression
    held_out: FloatArray | LabelLogProbs
    """class_log_probs  # [rows, labels]. Of a row on which it was fitted, they are of a fit without the row's fold. As
    32-bit numbers if it was not fitted on all rows."""
    num_rows: int  #: number of rows on which it was fitted


def fit_bag_of_words(texts: Sequence[str], gold: IndexArray, num_labels: int) -> FittedWords:
    """Fit TF-IDF with logistic regression, on the most frequent terms.

    A held-out row has no part in the terms, in their document frequencies or in the regression. The strength of L2 is
    chosen by cross-validated log-loss. Texts without words count as one word each. Where no two rows have a word in
    common, the labels have their shares of the rows.

    Rows times labels are at most four million. A larger dataset is fitted on a sample that has each label's share.

    Args:
        texts: labelled texts.
        gold: `[texts]`, index of each text's label.
    """
    few = slice(0, _MOST_GRID_ROWS)
    losses = {c: gold_losses(_hold_out(texts[few], gold[few], num_labels, c, 1), gold[few]) for c in _INVERSE_L2}
    best = min(_INVERSE_L2, key=lambda c: float(losses[c].sum()))
    places = pick_rows(gold, _MOST_SCORES // num_labels)
    own_texts, own_gold = [texts[place] for place in places], gold[places]
    regression = WordRegression.of(*_fit(own_texts, own_gold, num_labels, best))
    held_out = _hold_out(own_texts, own_gold, num_labels, best)
    if len(places) == len(texts):
        return FittedWords(regression, held_out, len(places))
    return FittedWords(regression, _fill_up(held_out, places, regression, texts), len(places))


def _fill_up(
    held_out: FloatArray, places: IndexArray, regression: WordRegression, texts: Sequence[str]
) -> LabelLogProbs:
    """What is said of every row  # [rows, labels]: the rows at other places had no part in the regression."""
    found = np.empty((len(texts), held_out.shape[1]), dtype=np.float32)
    found[places] = held_out
    others = np.setdiff1d(np.arange(len(texts)), places)
    for block in list_blocks(len(others)):
        found[others[block]] = regression.class_log_probs([texts[place] for place in others[block]])
    return found


class WordsEstimate(NamedTuple):
    """What a bag of words reaches on labelled rows."""

    accuracy: float  #: cross-validated
    num_rows: int  #: number of rows on which it was fitted and judged
    num_labelled: int  #: number of rows that there are
    largest_class: float  #: share of the largest class among these


def estimate_accuracy(texts: Sequence[str], gold: IndexArray, num_labels: int) -> WordsEstimate:
    """Cross-validated accuracy of a bag of words on labelled texts; of more than a thousand with one strength of L2.

    Rows times labels are at most one million. Of a larger dataset, a sample is taken.
    """
    places = pick_rows(gold, _MOST_ESTIMATE_SCORES // num_labels)
    own_texts, own_gold = [texts[place] for place in places], gold[places]
    if len(places) <= _FEW_ROWS:  # as in a run
        found = fit_bag_of_words(own_texts, own_gold, num_labels).held_out
    else:
        found = _hold_out(own_texts, own_gold, num_labels, _INVERSE_L2[1], 1)
    accuracy = float((found.argmax(axis=1) == own_gold).mean())
    return WordsEstimate(accuracy, len(places), len(texts), share_of_largest_class(gold))


def pick_rows(gold: IndexArray, most: int) -> IndexArray:
    """Places of at most `most` rows, ascending: the first rows of each label, with each label's share of all rows."""
    return np.sort(np.argsort(spread_evenly(gold), kind="stable")[:most])


def _make_vectorizer(terms: list[str]) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer  # slow to import; a user of the types does not need it

    return TfidfVectorizer(analyzer=list_terms, sublinear_tf=True, vocabulary=terms)  # type: ignore[no-untyped-call]


def _choose_terms(texts: Sequence[str], most: int) -> list[str]:
    """The most frequent terms that several rows have, sorted; 0 alone if no two rows have a term in common.

    Of equally frequent terms, the first in the order of their characters. Scikit-learn (`max_features`) sorts by count
    alone, and ties fall as the processor's instructions have it.
    """
    may_be_shared = _find_shared(texts) if sum(map(measure_text, texts)) > _FEW_CHARACTERS else lambda terms: terms
    counts, rows = Counter[str](), Counter[str]()
    for terms in map(may_be_shared, map(list_terms, texts)):
        counts.update(terms)
        rows.update(set(terms))
    shared = [term for term in counts if rows[term] >= _LEAST_ROWS and len(term) <= _MOST_CHARACTERS]
    return sorted(sorted(shared, key=lambda term: (-counts[term], term))[:most]) or [NUMBER]


def _find_shared(texts: Sequence[str]) -> Callable[[list[str]], list[str]]:
    """What leaves out nearly all terms of a single row, and none of several rows.

    Most pairs of words are of a single row, and to count them would take hundreds of megabytes. So each term has a bit
    for a first row and one for a second; few terms share their bits with others.
    """
    once, again = np.zeros((2, _NUM_BITS // 8), np.uint8)

    def place(terms: Collection[str]) -> tuple[IndexArray, Any]:
        numbers = np.fromiter(map(hash, terms), np.int64, len(terms)) & (_NUM_BITS - 1)
        return numbers >> 3, np.left_shift(1, numbers & 7).astype(np.uint8)

    for terms in map(list_terms, texts):
        places, bits = place(set(terms))
        np.bitwise_or.at(again, places, once[places] & bits)
        np.bitwise_or.at(once, places, bits)

    def keep(terms: list[str]) -> list[str]:
        places, bits = place(terms)
        return list(compress(terms, again[places] & bits))

    return keep


def _fit(texts: Sequence[str], gold: IndexArray, num_labels: int, inverse_l2: float) -> tuple[Any, Regression]:
    most = min(_MOST_TERMS, max(_MOST_WEIGHTS // num_labels, 1))
    vectorizer = _make_vectorizer(_choose_terms(texts, most))
    return vectorizer, fit_regression(vectorizer.fit_transform(texts), gold, num_labels, inverse_l2)


def _hold_out(
    texts: Sequence[str], gold: IndexArray, num_labels: int, inverse_l2: float, cuts: int | None = None
) -> FloatArray:
    def predict(rest: IndexArray, held_out: IndexArray) -> FloatArray:
        fitted_on, asked = ([texts[place] for place in places] for places in (rest, held_out))
        vectorizer, regression = _fit(fitted_on, gold[rest], num_labels, inverse_l2)
        return regression.predict(vectorizer.transform(asked))

    return hold_out(gold, num_labels, predict, cuts)
