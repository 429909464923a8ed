import csv
import io
import tracemalloc

import numpy as np
import pytest
from sklearn.metrics import f1_score

from lens_engine.classifier.candidates import MOST_SUSPICIOUS, find_suspicious
from lens_engine.classifier.quality import (
    RowFigures,
    measure_accuracy,
    measure_figures,
    measure_macro_f1,
    measure_shares,
    smooth_rows,
    standard_error,
    value_rows,
)
from lens_engine.model.limits import NO_LABEL
from lens_engine.randomness import make_generator
from lens_engine.show.exports import write_suspicious_labels
from lens_engine.types import IndexArray


def test_calibration_error_weighs_bins_by_their_rows() -> None:
    confidences = np.array([0.91, 0.95, 0.99, 0.55])
    log_probs, gold = np.log(np.stack([confidences, 1 - confidences], axis=1)), np.array([0, 0, 1, 1])

    expected = (3 * abs(0.95 - 2 / 3) + 1 * abs(0.55 - 0)) / 4
    assert measure_figures(RowFigures.of(log_probs, gold)).ece == pytest.approx(expected)


def test_curve_counts_the_answers_above_each_threshold() -> None:
    confidences = np.array([0.99995, 0.9, 0.8, 0.7, 0.6, 0.55, 0.54, 0.53, 0.52, 0.51])
    hits = np.array([True, True, True, True, False, True, False, True, False, False])
    curve = measure_shares(confidences, hits)
    assert curve[0].model_dump() == {"threshold": 0.51, "share": 1.0, "accuracy": 0.6}
    assert curve[-1].model_dump() == {"threshold": 0.9999, "share": 0.1, "accuracy": 1.0}
    assert [(one.threshold, one.share) for one in curve if one.share in (0.5, 0.8)] == [(0.53, 0.8), (0.6, 0.5)]
    for one in curve:
        given = confidences >= one.threshold
        assert (one.share, one.accuracy) == (given.mean(), hits[given].mean())


def test_equal_probabilities_have_one_point() -> None:
    quality = measure_figures(RowFigures.of(np.log(np.full((6, 2), 0.5)), np.array([0, 1, 0, 1, 0, 0])))
    (point,) = quality.shares_answered
    assert point.model_dump() == {"threshold": 0.5, "share": 1.0, "accuracy": 4 / 6}


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


def test_smoothed_values_grow_with_the_margin_and_a_row_without_an_answer_counts_nothing() -> None:
    log_probs, gold = np.log([[0.9, 0.1], [0.9, 0.1], [0.6, 0.4], [0.5, 0.5]]), np.array([0, 1, 0, 0])
    log_probs[3] = NO_LABEL

    by_hits, by_labels = (smooth_rows(log_probs, gold, one) for one in ("accuracy", "macro_f1"))

    # (1 + tanh m) / 2 of a margin of log p / q is p² / (p² + q²)
    hits = np.array([1, 0, 1, 0])
    expected = np.mean([hits, [0.81 / 0.82, 0.01 / 0.82, 0.36 / 0.52, 0.0]], axis=0)
    assert by_hits == pytest.approx(expected)
    less = (expected - hits) * [2 / 3, 2, 2 / 3, 2 / 3]  # a label has three rows, the other one
    assert by_labels - value_rows(np.array([0, 0, 0, 1]), gold, "macro_f1") == pytest.approx(less)


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


LABELS = ("a", "b", "c")


def log_probs(*rows: tuple[float, ...]) -> np.ndarray:
    return np.log(np.array(rows))


SURE = [(0.8, 0.1, 0.1), (0.7, 0.2, 0.1), (0.1, 0.8, 0.1), (0.2, 0.7, 0.1)]


def test_confident_contradictions_are_listed_the_surest_first() -> None:
    found = find_suspicious(
        log_probs(*SURE, (0.1, 0.75, 0.15), (0.05, 0.9, 0.05)),
        np.array([0, 0, 1, 1, 0, 0]),
        [10, 11, 12, 13, 14, 15],
        LABELS,
    )
    assert [(one.row, one.label, one.likelier) for one in found] == [(15, "a", "b"), (14, "a", "b")]
    assert (found[0].probability, found[0].probability_of_likelier) == pytest.approx((0.05, 0.9))


@pytest.mark.parametrize("last", [(0.4, 0.6, 1e-9), (0.01, 0.01, 0.98)], ids=["below the mean of b", "no row has c"])
def test_doubtful_contradiction_and_label_of_no_row_are_not_listed(last: tuple[float, ...]) -> None:
    assert find_suspicious(log_probs(*SURE, last), np.array([0, 0, 1, 1, 0]), range(5), LABELS) == ()


def test_label_that_is_not_the_likeliest_is_not_listed_because_it_is_rare() -> None:
    rows, gold = log_probs(*SURE, (0.02, 0.94, 0.04), (0.03, 0.57, 0.4)), np.array([0, 0, 1, 1, 2, 0])
    assert [(one.row, one.likelier) for one in find_suspicious(rows, gold, range(6), LABELS)] == [(4, "b")]


def test_list_has_an_end_and_equal_rows_keep_their_order() -> None:
    number = MOST_SUSPICIOUS + 50
    rows = [(0.9, 0.1, 1e-9)] * 1000 + [(0.1, 0.9, 1e-9)] * 1000 + [(0.05, 0.95, 1e-9)] * number
    gold = np.array([0] * 1000 + [1] * 1000 + [0] * number)
    found = find_suspicious(log_probs(*rows), gold, range(len(rows)), LABELS)
    assert [one.row for one in found] == list(range(2000, 2000 + MOST_SUSPICIOUS))


def test_probabilities_of_many_rows_are_not_copied() -> None:
    rows, labels = 20_000, 200
    given = np.full((rows, labels), np.log(1 / labels))
    find_suspicious(given[:1], np.array([0]), range(1), [str(n) for n in range(labels)])
    tracemalloc.start()
    find_suspicious(given, np.arange(rows) % labels, range(rows), [str(n) for n in range(labels)])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.8 * given.nbytes


def test_csv_has_the_texts_and_no_formula() -> None:
    found = find_suspicious(
        log_probs(*SURE, (0.05, 0.9, 0.05)), np.array([0, 0, 1, 1, 0]), [3, 4, 5, 6, 7], ("=a", "b", "c")
    )
    rows = list(csv.DictReader(io.StringIO(write_suspicious_labels(found, {7: '+"x",\ny'}))))
    assert rows == [
        {
            "row": "8",
            "text": '\'+"x",\ny',
            "label": "'=a",
            "likelier": "b",
            "probability": "0.05",
            "probability_of_likelier": "0.9",
        }
    ]
