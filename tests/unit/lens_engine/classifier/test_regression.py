import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from lens_engine.classifier.regression import cut_folds, fit_regression


def draw_features(labels: int, rows: int = 60, width: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(labels)
    gold = np.arange(rows) % labels
    return rng.normal(size=(rows, width)) + 0.8 * np.eye(labels, width)[gold], gold


@pytest.mark.parametrize("labels", [2, 3, 4])
def test_probabilities_are_those_of_scikit_learn(labels: int) -> None:
    features, gold = draw_features(labels)
    theirs = LogisticRegression(C=0.3, solver="newton-cg", max_iter=200).fit(features, gold)

    weights, intercepts = fit_regression(features, gold, labels, 0.3)

    found = softmax(features @ weights.T + intercepts, axis=1)
    np.testing.assert_allclose(found, theirs.predict_proba(features), atol=1e-9)


@pytest.mark.parametrize("pair", [(0, 1), (0, 2), (1, 2)])
def test_two_known_labels_of_three_are_told_apart(pair: tuple[int, int]) -> None:
    features, gold = draw_features(3)
    known = np.isin(gold, pair)
    theirs = LogisticRegression(C=1.0, solver="newton-cg", max_iter=200).fit(features[known], gold[known])

    weights, intercepts = fit_regression(features[known], gold[known], 3, 1.0)

    found = softmax(features @ weights.T + intercepts, axis=1)
    np.testing.assert_allclose(found[:, pair], theirs.predict_proba(features), atol=1e-9)


def test_only_label_of_the_rows_is_always_predicted() -> None:
    features, _ = draw_features(2)

    weights, intercepts = fit_regression(features, np.full(60, 2), 4, 1.0)

    assert set((features @ weights.T + intercepts).argmax(axis=1)) == {2}


@given(gold=st.lists(st.integers(0, 4), min_size=1, max_size=40))
def test_folds_hold_out_every_row_once(gold: list[int]) -> None:
    folds = list(cut_folds(np.array(gold)))

    assert sorted(row for held_out, _ in folds for row in held_out) == list(range(len(gold)))
    for held_out, rest in folds:
        assert sorted([*held_out, *rest]) == list(range(len(gold)))


@given(gold=st.lists(st.integers(0, 4), min_size=5, max_size=60))
def test_folds_hold_every_label_evenly(gold: list[int]) -> None:
    labels = np.array(gold)

    counts = np.array([np.bincount(labels[held_out], minlength=5) for held_out, _ in cut_folds(labels)])

    assert len(counts) == 5
    assert (counts.max(axis=0) - counts.min(axis=0) <= 1).all()
