import numpy as np

from lab.rivals.group_choice import first_best


def test_first_best_sees_through_rounding_and_nothing_more() -> None:
    assert first_best(np.array([0.3, 0.1 + 0.2, -np.inf])) == 0
    assert first_best(np.array([0.3, 0.3001])) == 1
    assert first_best(np.array([-0.3001, -0.3])) == 1
