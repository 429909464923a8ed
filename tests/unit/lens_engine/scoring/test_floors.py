"""Values of a chat that are upper bounds: their marks, and the shares that end a run."""

import numpy as np
import pytest

from lens_engine.errors import EndpointError
from lens_engine.scoring.limits import check_floors, check_true_floors, find_floors, mark_floors


def test_chat_that_lists_few_label_words_is_refused() -> None:
    scores = mark_floors(np.full((100, 10), -1.0), np.arange(1000).reshape(100, 10) < 300)
    check_floors(scores, "chatty")
    check_floors(mark_floors(np.full((10, 10), -1.0), np.ones((10, 10), dtype=bool)), "chatty")  # too few to tell
    scores[-1:] = mark_floors(scores[-1:], np.ones((1, 10), dtype=bool))
    with pytest.raises(EndpointError, match=r"chatty lists only 69% of the label words .*check: most probable tokens"):
        check_floors(scores, "chatty")


def test_right_labels_that_are_not_listed_are_refused() -> None:
    values = np.full((2, 200, 3), -1.0)
    floors = np.zeros(values.shape, dtype=bool)
    gold = np.arange(200) % 3
    floors[0, :20, :] = True
    scores = mark_floors(values, floors)
    check_true_floors(scores, gold, "chatty")
    floors[1, 7, gold[7]] = True
    with pytest.raises(EndpointError, match=r"chatty does not list the right label .* for 21 of 400 rows"):
        check_true_floors(mark_floors(values, floors), gold, "chatty")


def test_mark_of_a_floor_survives_and_changes_nothing_else() -> None:
    values = -np.random.default_rng(0).exponential(3.0, 1000)
    floors = np.arange(1000) % 3 == 0
    marked = mark_floors(values, floors)
    assert np.array_equal(find_floors(marked.astype(np.float64).astype(np.float32)), floors)
    assert np.abs(marked - values).max() < 1e-5
    assert np.isfinite(mark_floors(np.zeros(2), np.array([True, False]))).all()
