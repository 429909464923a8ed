import numpy as np
import pytest

from lens_engine.classifier.quality import measure_quality, measure_shares
from lens_engine.randomness import make_generator


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


def test_shares_of_many_rows_are_those_that_were_aimed_at() -> None:
    confidences = make_generator(0, "curve").random(10_000)
    shares = [one.share for one in measure_shares(confidences, confidences > 0.5)]
    assert np.allclose(shares, (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1), atol=0.001)


def test_equal_probabilities_have_one_point() -> None:
    quality = measure_quality(np.log(np.full((6, 2), 0.5)), np.array([0, 1, 0, 1, 0, 0]))
    assert [one.model_dump() for one in quality.shares_answered] == [
        {"threshold": 0.5, "share": 1.0, "accuracy": 4 / 6}
    ]
