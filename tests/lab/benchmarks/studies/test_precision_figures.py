import numpy as np
import pytest

from benchmarks.studies.precision_figures import (
    best_overlap,
    compare_order,
    compare_scores,
    label_differences,
    permutation_keys,
)
from lens_engine.types import LabelLogProbs


def log_probs(values: object) -> LabelLogProbs:
    return np.array(values, dtype=np.float32)


def test_equal_scores_differ_in_nothing() -> None:
    scores = log_probs([[[-1.0, -2.0], [-3.0, -0.5]]])

    figures = compare_scores(scores, scores)

    assert (figures.pairs, figures.max_delta, figures.max_margin_delta) == (2, 0.0, 0.0)
    assert (figures.argmax_flips, figures.ties) == (0.0, 0.0)


def test_a_shift_of_all_labels_moves_no_margin() -> None:
    reference = log_probs([[[-1.0, -2.0, -4.0]]])

    figures = compare_scores(reference - 0.25, reference)

    assert (figures.mean_delta, figures.max_delta) == (0.25, 0.25)
    assert figures.max_margin_delta == 0.0


def test_largest_margin_is_looked_for_among_all_labels() -> None:
    reference = log_probs([[[-1.0, -2.0, -4.0]]])
    found = log_probs([[[-1.0, -1.5, -4.5]]])

    figures = compare_scores(found, reference)

    assert figures.max_delta == 0.5
    assert figures.max_margin_delta == 1.0  # between the second and the third
    assert figures.mean_margin_delta == pytest.approx((0.5 + 0.5 + 1.0) / 3)


def test_flips_and_ties_are_shares_of_the_pairs() -> None:
    reference = log_probs([[[-1.0, -2.0], [-1.0, -2.0]], [[-2.0, -1.0], [-2.0, -1.0]]])
    found = log_probs([[[-3.0, -2.0], [-1.0, -2.0]], [[-1.0, -1.0], [-2.0, -1.0]]])

    figures = compare_scores(found, reference)

    assert figures.argmax_flips == 0.5  # the tie goes to the first label, which was the second
    assert figures.ties == 0.25


def test_a_tie_of_two_unlikely_labels_is_none() -> None:
    scores = log_probs([[[-0.1, -4.0, -4.0]]])

    assert compare_scores(scores, scores).ties == 0.0


def test_differences_of_labels_are_those_of_the_earlier_less_the_later() -> None:
    assert label_differences(log_probs([[-1.0, -3.0, -7.0]])).tolist() == [[2.0, 6.0, 4.0]]


def test_overlap_counts_what_is_among_the_best_of_both() -> None:
    reference = np.array([4.0, 3.0, 2.0, 1.0])

    assert best_overlap(reference, reference, 2) == 1.0
    assert best_overlap(np.array([4.0, 1.0, 3.0, 2.0]), reference, 2) == 0.5
    assert best_overlap(-reference, reference, 2) == 0.0


def test_order_is_compared_by_rank_not_by_value() -> None:
    reference = np.arange(16.0)

    same = compare_order(reference**3, reference)
    reverse = compare_order(-reference, reference)

    assert (same.spearman, same.best_eighth_kept, same.same_best) == (pytest.approx(1.0), 1.0, True)
    assert (reverse.spearman, reverse.best_eighth_kept, reverse.same_best) == (pytest.approx(-1.0), 0.0, False)


def test_permutations_are_ordered_by_right_rows_then_by_margin() -> None:
    gold = np.array([0, 1])
    one_right_wide = [[-0.1, -9.0], [-1.0, -2.0]]
    two_right_narrow = [[-1.0, -1.1], [-1.1, -1.0]]
    two_right_wide = [[-1.0, -3.0], [-3.0, -1.0]]

    keys = permutation_keys(log_probs([one_right_wide, two_right_wide, two_right_narrow]), gold)

    assert keys.argsort().tolist() == [0, 2, 1]
