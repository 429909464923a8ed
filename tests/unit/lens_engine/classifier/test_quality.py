import numpy as np
import pytest

from lens_engine.classifier.quality import measure_quality


def with_confidences(confidences: list[float]) -> np.ndarray:
    """Class log-probabilities of two labels; label 0 is predicted, this surely."""
    first = np.array(confidences)
    return np.log(np.stack([first, 1.0 - first], axis=1))


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
