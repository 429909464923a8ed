from typing import get_args

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from lens_engine.classifier.bag_of_words import FittedWords, fit_bag_of_words
from lens_engine.classifier.fitting import can_fit, cross_validate_linear, fit_head
from lens_engine.classifier.heads import HEAD_KINDS, HeadKind, LinearHead, PromptsHeadKind, WordsHead, add_words
from lens_engine.classifier.quality import gold_losses
from lens_engine.classifier.regression import INVERSE_L2, cut_folds

ROWS = 40
PROMPTS_KINDS = get_args(PromptsHeadKind)


def draw_log_probs(prompts: int = 2, labels: int = 3, knowledge: float = 1.5, seed: int = 0) -> np.ndarray:
    """Label log-probabilities of 40 rows with the gold labels `row % labels`."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(-4.0, 1.5, size=(prompts, ROWS, labels))
    scores[:, np.arange(ROWS), np.arange(ROWS) % labels] += knowledge
    return scores.astype(np.float32)


def fit_words(gold: np.ndarray) -> FittedWords:
    """A bag of words of 40 texts, of which one word in four tells the label."""
    texts = [f"text {row} on {label if row % 4 else 'something'}" for row, label in enumerate(gold.tolist())]
    return fit_bag_of_words(texts, gold, 3)


def make_gold(labels: int = 3) -> np.ndarray:
    return np.arange(ROWS) % labels


@pytest.mark.parametrize("kind", PROMPTS_KINDS)
def test_held_out_row_has_no_part_in_its_fit(kind: HeadKind) -> None:
    """A row that changes leaves the losses of its fold as they were, and moves those of the other folds."""
    log_probs, gold = draw_log_probs(), make_gold()
    fold, rest = next(iter(cut_folds(gold)))
    changed = log_probs.copy()
    changed[:, fold[0]] = np.float32([-9.0, -1.0, -5.0])

    before, after = (fit_head_at_one_strength(kind, given, gold) for given in (log_probs, changed))

    np.testing.assert_array_equal(after[fold[1:]], before[fold[1:]])
    assert (after[rest] != before[rest]).all()


def fit_head_at_one_strength(kind: HeadKind, log_probs: np.ndarray, gold: np.ndarray) -> np.ndarray:
    return cross_validate_linear(log_probs, gold, 1.0) if kind == "linear" else fit_head(kind, log_probs, gold).losses


@pytest.mark.parametrize("kind", PROMPTS_KINDS)
def test_losses_are_of_heads_fitted_on_the_other_folds(kind: HeadKind) -> None:
    log_probs, gold = draw_log_probs(), make_gold()
    fitted = fit_head(kind, log_probs, gold)

    for held_out, rest in cut_folds(gold):
        if isinstance(fitted.head, LinearHead):
            expected = loss_of_scikit_learn(log_probs, gold, held_out, rest, fitted.head.inverse_l2)
        else:
            head = fit_head(kind, log_probs[:, rest], gold[rest]).head
            expected = gold_losses(head.class_log_probs(log_probs[:, held_out]), gold[held_out])
        np.testing.assert_allclose(fitted.losses[held_out], expected, atol=1e-6)


def loss_of_scikit_learn(
    log_probs: np.ndarray, gold: np.ndarray, held_out: np.ndarray, rest: np.ndarray, inverse_l2: float
) -> np.ndarray:
    features = np.concatenate(list(log_probs.astype(np.float64)), axis=1)
    features = (features - features[rest].mean(axis=0)) / features[rest].std(axis=0)
    model = LogisticRegression(C=inverse_l2, solver="newton-cg", max_iter=200).fit(features[rest], gold[rest])
    return -np.log(model.predict_proba(features[held_out])[np.arange(len(held_out)), gold[held_out]])


def test_random_labels_are_not_predicted_by_memory() -> None:
    """With more features than rows the training rows could be learned by heart."""
    log_probs, gold = draw_log_probs(prompts=20, knowledge=0.0), make_gold()

    fitted = fit_head("linear", log_probs, gold)

    learned = gold_losses(fitted.head.class_log_probs(log_probs), gold).mean()
    assert fitted.losses.mean() > 0.9 * np.log(3)
    assert learned < 0.8 * fitted.losses.mean()


@pytest.mark.parametrize("kind", HEAD_KINDS)
def test_same_rows_give_the_same_bits(kind: HeadKind) -> None:
    first, again = (fit_head(kind, draw_log_probs(), make_gold(), fit_words(make_gold())) for _ in range(2))

    assert again.head == first.head
    assert again.losses.tobytes() == first.losses.tobytes()


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("prompts", [1, 3])
def test_linear_is_scikit_learn_on_standardised_features(labels: int, prompts: int) -> None:
    log_probs, gold = draw_log_probs(prompts, labels), make_gold(labels)

    head = fit_head("linear", log_probs, gold).head

    assert isinstance(head, LinearHead)
    features = np.concatenate(list(log_probs.astype(np.float64)), axis=1)
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    model = LogisticRegression(C=head.inverse_l2, solver="newton-cg", max_iter=200).fit(features, gold)
    np.testing.assert_allclose(np.exp(head.class_log_probs(log_probs)), model.predict_proba(features), atol=1e-7)


def test_strength_of_l2_has_the_least_loss_of_the_grid() -> None:
    log_probs, gold = draw_log_probs(), make_gold()

    fitted = fit_head("linear", log_probs, gold)

    losses = {c: cross_validate_linear(log_probs, gold, c).mean() for c in INVERSE_L2}
    assert isinstance(fitted.head, LinearHead)
    assert losses[fitted.head.inverse_l2] == min(losses.values()) == fitted.losses.mean()


@pytest.mark.parametrize("kind", HEAD_KINDS)
def test_label_in_one_fold_only_gives_finite_losses(kind: HeadKind) -> None:
    gold = np.zeros(ROWS, dtype=np.intp)
    gold[[3, 30]] = 1, 2

    assert np.isfinite(fit_head(kind, draw_log_probs(), gold, fit_words(gold)).losses).all()


def test_feature_that_never_changes_has_no_scale() -> None:
    log_probs = draw_log_probs()
    log_probs[0, :, 1] = -3.0

    head = fit_head("linear", log_probs, make_gold()).head

    assert isinstance(head, LinearHead)
    assert head.scales[1] == 1.0
    assert np.isfinite(head.class_log_probs(log_probs)).all()


def test_temperature_makes_sure_prompts_less_sure() -> None:
    """Log-probabilities five times too large ask for five times the temperature."""
    log_probs, gold = draw_log_probs(prompts=1).astype(np.float64), make_gold()
    plain, sharp = (fit_head("argmax", factor * log_softmax(log_probs, axis=2), gold).head for factor in (1.0, 5.0))

    assert not isinstance(plain, LinearHead)
    assert not isinstance(sharp, LinearHead)
    assert sharp.temperature == pytest.approx(5.0 * plain.temperature, rel=1e-2)


def test_prior_gives_labels_their_shares_on_average() -> None:
    gold = np.array([0] * 30 + [1] * 10)
    log_probs = np.repeat(np.log([[[0.9, 0.1]]]), ROWS, axis=1)  # says the same of every row

    found = fit_head("prior", log_probs, gold).head.model_copy(update={"temperature": 1.0}).class_log_probs(log_probs)

    np.testing.assert_allclose(np.exp(found[0]), softmax(np.log([30.5, 10.5])))


@pytest.mark.parametrize(
    ("kind", "rows", "labels", "expected"),
    [
        ("argmax", 1, 77, True),
        ("prior", 1, 77, True),
        ("linear", 4, 2, False),
        ("linear", 5, 2, True),
        ("linear", 11, 6, False),
        ("linear", 12, 6, True),
        ("linear", 153, 77, False),
        ("words", 153, 77, False),
        ("words", 12, 6, True),
    ],
)
def test_linear_is_refused_with_too_few_rows(kind: HeadKind, rows: int, labels: int, expected: bool) -> None:
    assert can_fit(kind, rows, labels) is expected


def test_words_are_one_more_prompt_of_linear() -> None:
    log_probs, gold = draw_log_probs(), make_gold()
    words = fit_words(gold)

    fitted = fit_head("words", log_probs, gold, words)

    linear = fit_head("linear", add_words(log_probs, words.held_out), gold)
    assert fitted.head == WordsHead(linear=linear.head, bag_of_words=words.regression)
    assert fitted.losses.tobytes() == linear.losses.tobytes()


def test_words_head_needs_the_words() -> None:
    with pytest.raises(ValueError, match="needs a bag of words"):
        fit_head("words", draw_log_probs(), make_gold())
