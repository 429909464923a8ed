import numpy as np
import pytest

from lens_engine.search.judgement import Judgement
from lens_engine.search.objective import Score, rank_key

PROBABILITIES = np.array([[0.6, 0.2], [0.1, 0.3], [0.5, 0.25], [0.4, 0.1]], dtype=np.float32)
JUDGEMENT = Judgement(np.log(PROBABILITIES), np.array([0, 1, 1, 0]))


def test_score_counts_hits_and_averages_margins() -> None:
    score = Score.of(JUDGEMENT)

    ratios = [0.6 / 0.2, 0.3 / 0.1, 0.25 / 0.5, 0.4 / 0.1]
    assert (score.correct, score.n, score.accuracy) == (3, 4, 0.75)
    assert score.margin == pytest.approx(np.log(ratios).mean(), abs=1e-6)


def test_margin_is_against_the_best_other_label() -> None:
    log_probs = np.log(np.array([[0.2, 0.5, 0.1]], dtype=np.float32))

    assert Score.of(Judgement(log_probs, np.array([0]))).margin == pytest.approx(np.log(0.2 / 0.5), abs=1e-6)


def test_ranking_is_by_accuracy_then_margin_then_rows() -> None:
    ranked = [
        ((3, 1), Score(9, 10, 0.1)),
        ((9, 9), Score(8, 10, 0.7)),
        ((1, 2), Score(8, 10, 0.5)),
        ((2, 1), Score(8, 10, 0.5)),
        ((0, 0), Score(7, 10, 5.0)),
    ]

    shuffled = [ranked[place] for place in (3, 0, 4, 2, 1)]
    assert sorted(shuffled, key=lambda pair: rank_key(*pair)) == ranked


def test_scores_of_different_sizes_rank_by_share() -> None:
    assert rank_key((0,), Score(3, 4, 0.0)) < rank_key((0,), Score(7, 10, 0.0))


def test_macro_f1_ranks_if_it_is_the_objective() -> None:
    gold = np.array([1] * 2 + [0] * 6)
    finds = Judgement(np.log(np.array([[0.4, 0.6]] * 5 + [[0.6, 0.4]] * 3, np.float32)), gold)  # 5 of 8 right
    plain = Judgement(np.log(np.array([[0.6, 0.4]] * 8, np.float32)), gold)  # 6 of 8 right
    first, second = (Score.of(one) for one in (finds, plain))
    assert rank_key((0,), second) < rank_key((0,), first)
    first, second = (Score.of(one, objective="macro_f1") for one in (finds, plain))
    assert rank_key((0,), first) < rank_key((0,), second)
    assert first.value == pytest.approx((2 / 3 + 4 / 7) / 2)
