import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from lens_engine.classifier import heads
from lens_engine.classifier.fitting import fit_head
from lens_engine.classifier.quality import RowFigures
from lens_engine.classifier.regression import cut_folds, fit_regression
from lens_engine.method.judgement import Judgement
from lens_engine.method.objective import ProbabilitiesObjective
from lens_engine.model.limits import NO_LABEL, REFUSED, UNFINISHED


def draw_log_probs(rows: int = 30, labels: int = 3) -> np.ndarray:
    """Label log-probabilities that know a little of the gold labels `row % labels`."""
    rng = np.random.default_rng(0)
    scores = rng.normal(-4.0, 1.5, size=(1, rows, labels))
    scores[:, np.arange(rows), np.arange(rows) % labels] += 1.5
    return scores.astype(np.float32)


def test_argmax_predicts_the_most_probable_label_word() -> None:
    log_probs = draw_log_probs()

    class_log_probs = heads.ArgmaxHead().class_log_probs(log_probs)

    assert class_log_probs.argmax(axis=1).tolist() == log_probs[0].argmax(axis=1).tolist()
    np.testing.assert_allclose(np.exp(class_log_probs).sum(axis=1), 1.0)
    np.testing.assert_allclose(class_log_probs, log_softmax(log_probs[0].astype(np.float64), axis=1))


def test_prior_adds_its_biases() -> None:
    head = heads.PriorHead(biases=((0.0, np.log(3.0)),))

    np.testing.assert_allclose(np.exp(head.class_log_probs(np.log([[[0.6, 0.2]]]))), [[0.5, 0.5]])


def test_share_of_an_absent_label_is_not_zero() -> None:
    np.testing.assert_allclose(np.exp(heads.log_label_shares(np.array([0, 0, 1]), 3)), np.array([2.5, 1.5, 0.5]) / 4.5)


@settings(max_examples=15)
@given(bias=st.lists(st.floats(-20.0, 20.0), min_size=3, max_size=3))
def test_prior_takes_out_any_constant_bias(bias: list[float]) -> None:
    log_probs, gold = draw_log_probs().astype(np.float64), np.arange(30) % 3
    biased = log_probs + np.array(bias).reshape(1, 1, 3)

    found = [fit_head("prior", given, gold).head.class_log_probs(given) for given in (log_probs, biased)]

    np.testing.assert_allclose(found[0], found[1], atol=1e-4)  # but for the search of the temperature
    assert found[0].argmax(axis=1).tolist() == found[1].argmax(axis=1).tolist()


def test_hopeless_label_keeps_a_finite_log_probability() -> None:
    far = np.array([[[0.0, -5000.0]]])

    found = heads.ArgmaxHead().class_log_probs(far)

    assert np.exp(found[0, 1]) == pytest.approx(1e-6)


def test_states_head_weighs_and_normalises() -> None:
    weights = ((1.0, 0.0), (0.0, 2.0))
    head = heads.StatesHead(layer=3, pooling="mean", weights=weights, intercepts=(0.5, 0.0), inverse_l2=0.1)

    found = head.class_log_probs(np.array([[1.0, 3.0]]))

    np.testing.assert_allclose(found, log_softmax([[1.5, 6.0]], axis=1))


SCORES = np.array([[value] * 2 for value in (NO_LABEL, REFUSED, UNFINISHED, -2.0)] + [[-1.0, -2.0]], np.float32)
GOLD = np.zeros(5, dtype=np.intp)
HITS = [False, False, False, True, True]


@pytest.mark.parametrize("head", [heads.ArgmaxHead(), heads.PriorHead(biases=((3.0, 0.0),))])
def test_heads_give_no_answer(head: heads.PromptsHead) -> None:
    assert RowFigures.of(head.class_log_probs(SCORES[np.newaxis]), GOLD).hits.tolist() == HITS


def test_prompts_give_no_answer_with_biases_and_without() -> None:
    judgement = Judgement(SCORES, GOLD)
    assert (judgement.predictions == GOLD).tolist() == HITS
    assert ProbabilitiesObjective.of(GOLD, 2).scores([judgement], is_final=True)[0].figure < sum(HITS) / len(HITS)


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
