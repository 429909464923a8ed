import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from lens_engine.classifier.fitting import (
    can_fit_states,
    first_within_an_error,
    fit_head,
    fit_prompts_head,
    fit_states_head,
    fit_words_weight,
)
from lens_engine.classifier.heads import PROMPTS_HEAD_KINDS, PromptsHeadKind, StatesHead
from lens_engine.classifier.regression import STATES_INVERSE_L2, cut_folds

ROWS = 40


def draw_log_probs(knowledge: float = 1.5) -> np.ndarray:
    """Label log-probabilities of 40 rows with the gold labels `row % 3`."""
    scores = np.random.default_rng(0).normal(-4.0, 1.5, size=(1, ROWS, 3))
    scores[:, np.arange(ROWS), np.arange(ROWS) % 3] += knowledge
    return scores.astype(np.float32)


def make_gold() -> np.ndarray:
    return np.arange(ROWS) % 3


@pytest.mark.parametrize("kind", PROMPTS_HEAD_KINDS)
def test_losses_are_of_heads_fitted_on_the_other_folds(kind: PromptsHeadKind) -> None:
    log_probs, gold = draw_log_probs(), make_gold()
    fitted = fit_head(kind, log_probs, gold)

    expected = np.zeros((ROWS, 3))  # the mean over three cuts, because rows are few
    for cut in range(3):
        for held_out, rest in cut_folds(gold, cut):
            head = fit_head(kind, log_probs[:, rest], gold[rest]).head
            expected[held_out] += np.exp(head.class_log_probs(log_probs[:, held_out])) / 3
    np.testing.assert_allclose(np.exp(fitted.held_out), expected, atol=1e-6)


def test_temperature_makes_sure_prompts_less_sure() -> None:
    """Log-probabilities five times too large ask for five times the temperature."""
    log_probs, gold = draw_log_probs().astype(np.float64), make_gold()
    plain, sharp = (fit_head("argmax", factor * log_softmax(log_probs, axis=2), gold).head for factor in (1.0, 5.0))

    assert sharp.temperature == pytest.approx(5.0 * plain.temperature, rel=1e-2)


def test_prior_gives_labels_their_shares_on_average() -> None:
    gold = np.array([0] * 30 + [1] * 10)
    log_probs = np.repeat(np.log([[[0.9, 0.1]]]), ROWS, axis=1)  # says the same of every row

    found = fit_head("prior", log_probs, gold).head.model_copy(update={"temperature": 1.0}).class_log_probs(log_probs)

    np.testing.assert_allclose(np.exp(found[0]), softmax(np.log([30.5, 10.5])))


@pytest.mark.parametrize(
    ("rows", "labels", "expected"), [(4, 2, False), (5, 2, True), (11, 6, False), (12, 6, True), (153, 77, False)]
)
def test_regression_on_states_is_refused_with_too_few_rows(rows: int, labels: int, expected: bool) -> None:
    assert can_fit_states(rows, labels) is expected


@pytest.mark.parametrize(("of_words", "expected"), [(2.0, 0.9), (0.0, 0.1)])
def test_pool_weighs_the_words_by_what_they_know(of_words: float, expected: float) -> None:
    """One side knows the labels, and the other says noise that is as sure."""
    gold, noise = make_gold(), np.random.default_rng(0).normal(size=(2, ROWS, 3))
    noise[0, np.arange(ROWS), gold] += 2.0 - of_words
    noise[1, np.arange(ROWS), gold] += of_words
    by_states, by_words = log_softmax(noise * 2, axis=2)

    weight, pooled = fit_words_weight(by_states, by_words, gold)

    assert weight == pytest.approx(expected, abs=0.2)
    mixed = (1 - weight) * by_states + weight * by_words
    np.testing.assert_allclose(pooled, log_softmax(mixed, axis=1), atol=1e-12)


def test_simplest_head_within_an_error_is_taken() -> None:
    """A prompt that knows the labels needs no biases; one that leans to a label does."""
    log_probs, gold = draw_log_probs(knowledge=9.0), make_gold()

    assert fit_prompts_head(log_probs, gold).head.kind == "argmax"
    assert fit_prompts_head(log_probs + np.float32([0.0, 20.0, 0.0]), gold).head.kind == "prior"


def test_first_within_one_standard_error_is_taken_and_no_other() -> None:
    best = np.zeros(16)
    near, far = np.tile([0.9, -0.7], 8), np.tile([1.1, -0.5], 8)  # an error of 0.207: behind by 0.1, and by 0.3

    assert first_within_an_error([near, best]) == 0
    assert first_within_an_error([far, best]) == 1


def draw_states(informative: tuple[int, int], size: int = 12) -> np.ndarray:
    """States of two layers and both poolings; one of them tells the label `row % 3`."""
    states = np.random.default_rng(0).normal(5.0, 2.0, size=(2, 2, ROWS, size)).astype(np.float32)
    states[informative][np.arange(ROWS), np.arange(ROWS) % 3] += 9.0
    return states


@pytest.mark.parametrize("place", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_states_head_finds_the_layer_and_the_pooling_that_tell_the_label(place: tuple[int, int]) -> None:
    states = draw_states(place)

    fitted = fit_states_head(states, (16, 20), make_gold(), 3)

    head = fitted.head
    assert isinstance(head, StatesHead)
    assert (head.layer, head.pooling) == ((16, 20)[place[0]], ("last", "mean")[place[1]])
    assert head.inverse_l2 in STATES_INVERSE_L2
    assert head.class_log_probs(states[place]).argmax(axis=1).tolist() == make_gold().tolist()
    assert (fitted.held_out.argmax(axis=1) == make_gold()).mean() > 0.9


def test_states_head_is_scikit_learn_on_standardised_states() -> None:
    states = draw_states((1, 0))[1:, :1].repeat(2, axis=1)

    head = fit_states_head(states, (20,), make_gold(), 3).head

    assert isinstance(head, StatesHead)
    features = states[0, 0].astype(np.float64)
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    model = LogisticRegression(C=head.inverse_l2, solver="newton-cg", max_iter=200).fit(features, make_gold())
    found = np.exp(head.class_log_probs(states[0, 0]))
    np.testing.assert_allclose(found, model.predict_proba(features), atol=1e-4)  # six digits of each weight
