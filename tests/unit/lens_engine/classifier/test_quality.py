import numpy as np
import pytest
from sklearn.metrics import f1_score, log_loss

from lens_engine.classifier.quality import measure_quality

PROBABILITIES = np.array(
    [[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.05, 0.05, 0.9], [0.6, 0.3, 0.1], [0.3, 0.3, 0.4], [0.85, 0.1, 0.05]]
)
GOLD = np.array([0, 1, 2, 1, 2, 1])  # predictions 0, 1, 2, 0, 2, 0: four of six right


def with_confidences(confidences: list[float]) -> np.ndarray:
    """Class log-probabilities of two labels; label 0 is predicted, this surely."""
    first = np.array(confidences)
    return np.log(np.stack([first, 1.0 - first], axis=1))


def test_known_predictions_give_known_accuracy_and_f1() -> None:
    quality = measure_quality(np.log(PROBABILITIES), GOLD)

    assert (quality.accuracy, quality.n) == (4 / 6, 6)
    assert quality.macro_f1 == pytest.approx((1 / 2 + 1 / 2 + 1) / 3)  # of the labels 0, 1 and 2
    assert quality.macro_f1 == pytest.approx(f1_score(GOLD, PROBABILITIES.argmax(axis=1), average="macro"))


def test_log_loss_is_that_of_scikit_learn() -> None:
    quality = measure_quality(np.log(PROBABILITIES), GOLD)

    by_hand = -np.log([0.7, 0.5, 0.9, 0.3, 0.4, 0.1]).mean()
    assert quality.log_loss == pytest.approx(by_hand)
    assert quality.log_loss == pytest.approx(log_loss(GOLD, PROBABILITIES, labels=[0, 1, 2]))


def test_calibrated_bins_have_no_calibration_error() -> None:
    confidences = [0.75] * 4 + [0.6] * 5
    gold = np.array([0, 0, 0, 1, 0, 0, 0, 1, 1])

    assert measure_quality(with_confidences(confidences), gold).ece == pytest.approx(0.0)


def test_calibration_error_weighs_bins_by_their_rows() -> None:
    confidences = [0.91, 0.95, 0.99, 0.55]
    gold = np.array([0, 0, 1, 1])

    expected = (3 * abs(0.95 - 2 / 3) + 1 * abs(0.55 - 0)) / 4
    assert measure_quality(with_confidences(confidences), gold).ece == pytest.approx(expected)


def test_errors_in_opposite_bins_do_not_cancel() -> None:
    gold = np.array([1, 1, 0, 0])  # too sure at 0.7, too unsure at 0.6

    assert measure_quality(with_confidences([0.75, 0.75, 0.65, 0.65]), gold).ece == pytest.approx((0.75 + 0.35) / 2)


def test_certain_predictions_fall_in_the_last_bin() -> None:
    sure = np.array([[0.0, -50.0], [0.0, -50.0]])

    quality = measure_quality(sure, np.array([0, 1]))

    assert quality.ece == pytest.approx(0.5)
    assert quality.log_loss == pytest.approx(25.0)
