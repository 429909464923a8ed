import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lens_engine.config import Contribution
from lens_engine.search.lens.infoscore import contributions, info_scores
from lens_engine.types import FloatArray

ZERO_SHOT = np.log(np.array([[0.2, 0.2], [0.4, 0.1]], dtype=np.float32))  # [score_examples, labels]
ONE_SHOT = np.log(np.array([[[0.1, 0.3], [0.4, 0.1]], [[0.3, 0.1], [0.2, 0.6]]], dtype=np.float32))
GOLD = np.array([1, 0])


def score(kind: Contribution) -> FloatArray:
    return contributions(kind, ONE_SHOT, ZERO_SHOT, GOLD)


def test_label_contribution_is_the_gain_within_the_label_set() -> None:
    by_hand = [[0.3 / 0.4 - 0.5, 0.4 / 0.5 - 0.4 / 0.5], [0.1 / 0.4 - 0.5, 0.2 / 0.8 - 0.4 / 0.5]]

    assert score("label") == pytest.approx(np.array(by_hand), abs=1e-6)


def test_vocabulary_contribution_is_the_gain_in_the_full_vocabulary() -> None:
    by_hand = [[0.3 - 0.2, 0.4 - 0.4], [0.1 - 0.2, 0.2 - 0.4]]

    assert score("vocabulary") == pytest.approx(np.array(by_hand), abs=1e-6)


@pytest.mark.parametrize("kind", ["label", "vocabulary"])
def test_demonstration_that_changes_nothing_contributes_nothing(kind: Contribution) -> None:
    found = contributions(kind, np.stack([ZERO_SHOT, ZERO_SHOT]), ZERO_SHOT, GOLD)

    assert found.dtype == np.float64
    assert not found.any()


@pytest.mark.parametrize("kind", ["label", "vocabulary"])
def test_demonstration_that_raises_the_gold_label_alone_contributes(kind: Contribution) -> None:
    better = ZERO_SHOT.copy()
    better[np.arange(2), GOLD] += np.log(1.5)

    assert (contributions(kind, better[None], ZERO_SHOT, GOLD) > 0).all()


def test_definitions_differ_where_all_label_words_gain_mass() -> None:
    doubled = (ZERO_SHOT + np.log(2.0)).astype(np.float32)[None]

    assert contributions("label", doubled, ZERO_SHOT, GOLD) == pytest.approx(np.zeros((1, 2)), abs=1e-6)
    assert (contributions("vocabulary", doubled, ZERO_SHOT, GOLD) > 0.1).all()


@given(shift=st.floats(-500.0, 0.0))
def test_label_contribution_survives_very_small_probabilities(shift: float) -> None:
    shifted = contributions("label", ONE_SHOT + np.float32(shift), ZERO_SHOT, GOLD)

    assert shifted == pytest.approx(score("label"), abs=1e-3)


def test_info_score_is_the_mean_over_the_score_set() -> None:
    assert info_scores(np.array([[0.1, 0.3], [-1.0, 0.0]])) == pytest.approx([0.2, -0.5])


def test_contribution_of_an_example_to_itself_is_left_out() -> None:
    matrix = np.array([[np.nan, 0.2, 0.4], [0.5, np.nan, 0.1], [0.3, 0.3, 0.0]])

    assert info_scores(matrix) == pytest.approx([0.3, 0.3, 0.2])
    assert info_scores(matrix[:, :1]).tolist() == [0.0, 0.5, 0.3]  # the first is the whole score set
