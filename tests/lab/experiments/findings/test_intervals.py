import numpy as np
import pytest
from scipy.stats import ttest_1samp, ttest_ind

from lab.experiments.findings.intervals import estimate_mean


def test_one_dataset_has_students_interval() -> None:
    values = [0.7, 0.8, 0.85, 0.6]
    found = estimate_mean([values])
    expected = ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert found.mean == pytest.approx(np.mean(values))
    assert found.bounds == pytest.approx((expected.low, expected.high))


def test_two_datasets_have_welchs_interval() -> None:
    one, other = [0.7, 0.8, 0.85, 0.6], [0.5, 0.52, 0.9]
    welch = ttest_ind(one, [-value for value in other], equal_var=False).confidence_interval(0.95)
    assert estimate_mean([one, other]).bounds == pytest.approx((welch.low / 2, welch.high / 2))


def test_every_dataset_counts_the_same() -> None:
    assert estimate_mean([[1.0] * 5, [0.0]]).mean == 0.5


def test_single_seed_has_no_interval() -> None:
    assert estimate_mean([[0.5, 0.6], [0.7]]).bounds is None


def test_equal_values_say_nothing_about_the_spread() -> None:
    found = estimate_mean([[0.5, 0.5], [0.25, 0.25]])
    assert (found.mean, found.bounds) == (0.375, None)
    assert estimate_mean([[0.5, 0.5], [0.2, 0.3]]).bounds is not None


@pytest.mark.parametrize("strata", [[], [[]], [[0.5], []]])
def test_mean_of_nothing_is_refused(strata: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="nothing"):
        estimate_mean(strata)
