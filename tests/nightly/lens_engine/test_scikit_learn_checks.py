"""scikit-learn's own checks of an estimator, and those that cannot hold for texts."""

from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
import pytest
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from lens_engine import LanguageModel, LensClassifier
from lens_engine.testing import TableScorer
from tests.slow.lens_engine.run.test_estimator import SMALL

NO_FEATURES = "texts have no features, so no number of them can be held or compared"
NO_NUMBERS = "numbers are no texts"
CANNOT_HOLD = {
    "check_classifiers_train": f"{NO_FEATURES}; it ends where it predicts a table of another width",
    "check_estimators_empty_data_messages": f"{NO_FEATURES}; without columns a text is empty, and is refused as such",
    "check_n_features_in": NO_FEATURES,
    "check_n_features_in_after_fitting": NO_FEATURES,
    "check_estimators_nan_inf": f"{NO_NUMBERS}, and nan is a text here",
    "check_fit1d": f"one dimension is that of texts; {NO_NUMBERS}, which is a TypeError",
    "check_fit2d_predict1d": f"one dimension is that of texts; {NO_NUMBERS}, which is a TypeError",
    "check_estimator_sparse_tag": "a table is refused with its shape, sparse or not",
    "check_estimator_sparse_array": "a table is refused with its shape, sparse or not",
    "check_estimator_sparse_matrix": "a table is refused with its shape, sparse or not",
}


class NumbersAsTexts(LensClassifier):
    """Writes each row of numbers as a text: scikit-learn has checks for estimators of numbers alone."""

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        return super().fit(write(X), y)

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        return super().predict_proba(write(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.input_tags.one_d_array = False
        tags.classifier_tags.poor_score = True  # a table of random scores, and words that occur once
        return tags


def write(given: Any) -> Iterable[str]:
    """A text for each row of a dense table; anything else as it is."""
    table = np.asarray(given)  # of a sparse table, an array without dimensions
    if table.ndim != 2:
        return given  # type: ignore[no-any-return]
    return [" ".join(f"n{value:.3f}" for value in row) for row in table]


@parametrize_with_checks(
    [NumbersAsTexts(LanguageModel(TableScorer()), options=SMALL, progress=False)],
    expected_failed_checks=lambda _: CANNOT_HOLD,
    xfail_strict=True,
)
def test_checks_of_scikit_learn_pass_but_for_those_that_cannot_hold(
    estimator: LensClassifier, check: Callable[[LensClassifier], None]
) -> None:
    check(estimator)


def test_estimator_of_texts_passes_the_checks_that_scikit_learn_has_for_it() -> None:
    with pytest.warns(SkipTestWarning, match="string=True"):
        results = check_estimator(LensClassifier())
    assert {result["status"] for result in results} == {"passed"}
