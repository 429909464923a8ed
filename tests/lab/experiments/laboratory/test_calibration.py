import numpy as np
import pytest

from lab.experiments.laboratory.calibration import calibrate


def test_calibrated_probabilities_match_the_example_by_hand() -> None:
    log_probs = np.log(np.array([[0.30, 0.10], [0.06, 0.02]], dtype=np.float32))
    content_free = np.log(np.array([0.18, 0.02], dtype=np.float32))
    # p = (0.75, 0.25), p_cf = (0.9, 0.1): 0.75/0.9 = 5/6 against 0.25/0.1 = 5/2, so a quarter and three quarters

    calibrated = np.exp(calibrate(log_probs, content_free))

    assert calibrated == pytest.approx(np.array([[0.25, 0.75], [0.25, 0.75]]), abs=1e-6)


def test_each_prefix_is_calibrated_by_its_own_content_free_answer() -> None:
    log_probs = np.log(np.full((2, 3, 2), 0.5, dtype=np.float32))  # [prefixes, queries, labels]
    content_free = np.log(np.array([[0.8, 0.2], [0.2, 0.8]], dtype=np.float32))

    predictions = calibrate(log_probs, content_free).argmax(axis=-1)

    assert predictions.tolist() == [[1, 1, 1], [0, 0, 0]]
