import numpy as np
import pytest

from experiments.rivals.group_choice import choose_highest, first_best, partition

GROUPS = np.array([0, 1, 0, 1, 0])


def test_highest_of_each_group_come_in_order_of_groups_then_scores() -> None:
    assert choose_highest(GROUPS, (2, 1), np.array([1.0, 9.0, 3.0, 8.0, 2.0])) == [2, 4, 1]


def test_equal_scores_give_the_lower_row() -> None:
    assert choose_highest(GROUPS, (2, 1), np.zeros(5)) == [0, 2, 1]


def test_one_quota_means_one_group() -> None:
    assert choose_highest(GROUPS, (3,), np.array([1.0, 9.0, 3.0, 8.0, 2.0])) == [1, 3, 2]


def test_group_without_a_place_gives_nothing() -> None:
    assert choose_highest(GROUPS, (0, 2), np.arange(5.0)) == [3, 1]


def test_quota_above_a_groups_size_is_refused_naming_it() -> None:
    with pytest.raises(ValueError, match="quota of group 1 is 3, but it has 2 rows"):
        list(partition(GROUPS, (1, 3)))


def test_group_without_a_quota_is_refused() -> None:
    with pytest.raises(ValueError, match="2 quotas, but rows of group 2"):
        list(partition(np.array([0, 1, 2]), (1, 1)))


def test_first_best_sees_through_rounding_and_nothing_more() -> None:
    assert first_best(np.array([0.3, 0.1 + 0.2, -np.inf])) == 0
    assert first_best(np.array([0.3, 0.3001])) == 1
    assert first_best(np.array([-0.3001, -0.3])) == 1
