import numpy as np
import pytest

from experiments.rivals.group_choice import first_best, partition

GROUPS = np.array([0, 1, 0, 1, 0])


def test_group_without_a_quota_is_refused() -> None:
    with pytest.raises(ValueError, match="2 quotas, but rows of group 2"):
        list(partition(np.array([0, 1, 2]), (1, 1)))


def test_first_best_sees_through_rounding_and_nothing_more() -> None:
    assert first_best(np.array([0.3, 0.1 + 0.2, -np.inf])) == 0
    assert first_best(np.array([0.3, 0.3001])) == 1
    assert first_best(np.array([-0.3001, -0.3])) == 1
