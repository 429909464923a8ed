import numpy as np
import pytest
from sklearn.metrics import f1_score

from lens_engine.classifier.quality import measure_accuracy, measure_macro_f1, standard_error, value_rows
from lens_engine.randomness import make_generator
from lens_engine.types import IndexArray


def draw(seed: int, rows: int, labels: int = 4) -> tuple[IndexArray, IndexArray]:
    """Answers and labels of rows, of which one label is rare and another never occurs."""
    rng = make_generator(seed, "macro_f1")
    gold = rng.choice(labels, size=rows, p=[0.6, 0.3, 0.1, 0.0])
    return np.where(rng.random(rows) < 0.7, gold, rng.integers(labels, size=rows)), gold


@pytest.mark.parametrize("seed", range(20))
def test_macro_f1_is_that_of_scikit_learn_over_the_labels_that_have_rows(seed: int) -> None:
    answers, gold = draw(seed, 30)
    expected = f1_score(gold, answers, labels=np.unique(gold), average="macro", zero_division=0.0)
    assert measure_macro_f1(answers, gold) == pytest.approx(expected)


def test_macro_f1_leaves_out_labels_without_rows() -> None:
    assert measure_macro_f1(np.array([0, 2, 1]), np.array([0, 1, 1])) == pytest.approx((1 + 2 / 3) / 2)


@pytest.mark.parametrize("seed", range(20))
def test_values_of_rows_are_those_of_leaving_out_each_row(seed: int) -> None:
    answers, gold = draw(seed, 12)
    n = len(gold)
    without = np.array([measure_macro_f1(np.delete(answers, row), np.delete(gold, row)) for row in range(n)])
    values = value_rows(answers, gold, "macro_f1")
    assert values.mean() == pytest.approx(measure_macro_f1(answers, gold))
    assert standard_error(values) == pytest.approx(((n - 1) / n * ((without - without.mean()) ** 2).sum()) ** 0.5)


def test_values_of_accuracy_are_the_hits() -> None:
    answers, gold = draw(0, 50)
    values = value_rows(answers, gold, "accuracy")
    assert values.tolist() == (answers == gold).astype(float).tolist()


def test_error_of_macro_f1_is_its_spread_over_samples() -> None:
    figures, errors = [], []
    for seed in range(400):
        answers, gold = draw(seed, 300)
        figures.append(measure_macro_f1(answers, gold))
        errors.append(standard_error(value_rows(answers, gold, "macro_f1")))
    assert np.mean(errors) == pytest.approx(np.std(figures, ddof=1), rel=0.1)


@pytest.mark.parametrize(("answers", "gold"), [([0], [0]), ([1], [0]), ([0, 1], [0, 1]), ([1, 1], [0, 0])])
def test_few_rows_have_finite_values(answers: list[int], gold: list[int]) -> None:
    assert np.isfinite(value_rows(np.array(answers), np.array(gold), "macro_f1")).all()


def test_figure_has_both_figures_with_their_errors_and_those_of_the_largest_class() -> None:
    answers, gold = np.array([0] * 8 + [1, 0]), np.array([0] * 8 + [1, 1])
    figure = measure_accuracy(answers, gold)
    assert figure.figure("accuracy") == 0.9
    assert figure.error("accuracy") == pytest.approx((0.9 * 0.1 / 10) ** 0.5)
    assert figure.figure("macro_f1") == pytest.approx((16 / 17 + 2 / 3) / 2)
    assert figure.error("macro_f1") == pytest.approx(standard_error(value_rows(answers, gold, "macro_f1")))
    assert (figure.largest_class, figure.largest_class_macro_f1) == (0.8, pytest.approx(8 / 9 / 2))


def test_answers_that_find_a_rare_label_beat_the_largest_class_by_macro_f1_alone() -> None:
    figure = measure_accuracy(np.array([0] * 6 + [1] * 4), np.array([0] * 8 + [1, 1]))
    assert figure.accuracy == figure.largest_class == 0.8
    assert not figure.beats_largest_class()
    assert figure.beats_largest_class("macro_f1")
