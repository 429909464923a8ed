from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.metrics import f1_score

from lens_engine.judging.judgement import EvaluationRows, Judgement, judge, spread
from lens_engine.judging.score import Score, rank_key
from lens_engine.judging.statistics import compare, interval
from lens_engine.metering.meter import Meter
from lens_engine.task.template import Task
from lens_engine.testing import TableScorer
from lens_engine.types import Example

GOLD = np.array([0, 1, 1, 0])
PROBABILITIES = np.array([[0.6, 0.2], [0.1, 0.3], [0.5, 0.25], [0.4, 0.1]], dtype=np.float32)


def make_judgement(probabilities: np.ndarray = PROBABILITIES, content_free: list[float] | None = None) -> Judgement:
    free = None if content_free is None else np.log(np.array(content_free, dtype=np.float32))
    return Judgement(np.log(probabilities), GOLD, free)


def test_figure_holds_accuracy_interval_and_macro_f1() -> None:
    figure = make_judgement().figure()

    assert (figure.accuracy, figure.n) == (0.75, 4)
    assert figure.ci95 == interval(3, 4)
    assert figure.macro_f1 == pytest.approx(f1_score(GOLD, [0, 1, 0, 0], average="macro"))
    assert figure.calibrated_accuracy is None


def test_macro_f1_of_a_constant_answer_counts_the_missed_label_as_zero() -> None:
    constant = np.tile(np.array([0.9, 0.1], dtype=np.float32), (4, 1))

    assert make_judgement(constant).figure().macro_f1 == pytest.approx((2 / 3) / 2)


def test_label_without_rows_does_not_lower_macro_f1() -> None:
    log_probs = np.log(np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]], dtype=np.float32))

    assert Judgement(log_probs, np.array([0, 1])).figure().macro_f1 == 1.0


def test_calibrated_accuracy_stands_beside_the_plain_one() -> None:
    figure = make_judgement(content_free=[0.85, 0.15]).figure()

    # the answers' shares 3/4, 1/4, 2/3, 4/5 of label 0 are below 0.85: all go to label 1
    assert figure.accuracy == 0.75
    assert figure.calibrated_accuracy == 0.5


def test_equal_scores_predict_the_first_label() -> None:
    even = np.full((4, 2), 0.5, dtype=np.float32)

    assert make_judgement(even).predictions.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662)],
)
def test_interval_is_wilsons(hits: int, n: int, low: float, high: float) -> None:
    # the last: Newcombe (1998), Statistics in Medicine 17, table I
    assert interval(hits, n) == pytest.approx((low, high), abs=1e-4)


def test_score_counts_hits_and_averages_margins() -> None:
    score = Score.of(make_judgement())

    ratios = [0.6 / 0.2, 0.3 / 0.1, 0.25 / 0.5, 0.4 / 0.1]
    assert (score.correct, score.n, score.accuracy) == (3, 4, 0.75)
    assert score.margin == pytest.approx(np.log(ratios).mean(), abs=1e-6)


def test_margin_is_against_the_best_other_label() -> None:
    log_probs = np.log(np.array([[0.2, 0.5, 0.1]], dtype=np.float32))

    assert Score.of(Judgement(log_probs, np.array([0]))).margin == pytest.approx(np.log(0.2 / 0.5), abs=1e-6)


def test_score_follows_calibrated_scores_where_there_are_some() -> None:
    assert Score.of(make_judgement(content_free=[0.85, 0.15])).correct == 2


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


def test_spread_is_over_permutations_with_the_samples_deviation() -> None:
    shares = [np.where(np.arange(4) < hits, 0.9, 0.1) for hits in (2, 3, 4)]
    judgements = [
        Judgement(np.log(np.stack([share, 1 - share], axis=1).astype(np.float32)), np.zeros(4, dtype=np.intp))
        for share in shares
    ]

    found = spread(judgements)

    assert (found.mean, found.min, found.max) == pytest.approx((0.75, 0.5, 1.0))
    assert found.sd == pytest.approx(np.std([0.5, 0.75, 1.0], ddof=1))
    assert (found.permutations, found.n, found.calibrated_mean) == (3, 4, None)


def test_spread_of_one_permutation_has_no_deviation() -> None:
    found = spread([make_judgement(content_free=[0.85, 0.15])])

    assert (found.mean, found.sd, found.calibrated_mean) == (0.75, 0.0, 0.5)


def mark(*ranges: tuple[int, int]) -> np.ndarray:
    hits = np.zeros(100, dtype=bool)
    for start, stop in ranges:
        hits[start:stop] = True
    return hits


def test_verdict_counts_only_rows_where_one_is_right() -> None:
    verdict = compare(mark((0, 60)), mark((0, 45), (60, 65)))

    assert (verdict.only_lens_right, verdict.only_rival_right) == (15, 5)
    assert verdict.better_than_random_and_validation
    assert verdict.p_value == pytest.approx(0.041389, abs=1e-6)  # the exact test of 15 against 5


@given(only_lens=st.integers(0, 40), only_rival=st.integers(0, 40))
def test_p_value_is_twice_the_binomial_tail(only_lens: int, only_rival: int) -> None:
    verdict = compare(mark((0, only_lens)), mark((50, 50 + only_rival)))

    tail = 2 * binom.cdf(min(only_lens, only_rival), only_lens + only_rival, 0.5)
    assert verdict.p_value == pytest.approx(min(tail, 1.0))
    assert verdict.better_than_random_and_validation == (only_lens > only_rival)


def test_same_hits_are_no_difference() -> None:
    verdict = compare(mark((0, 30)), mark((0, 30)))

    assert verdict.p_value == 1.0
    assert not verdict.better_than_random_and_validation


@pytest.mark.parametrize("calibrated", [False, True])
def test_judging_asks_for_each_row_and_the_content_free_input(
    calibrated: bool, task: Task, make_meter: Callable[..., Meter]
) -> None:
    scorer = TableScorer()
    rows = EvaluationRows(task, (Example(0, "a", "positive"), Example(1, "b", "negative"), Example(2, "c", "positive")))

    judgements = judge(make_meter(scorer), [(), ("x\n",)], rows, calibrated=calibrated)

    assert [judgement.label_log_probs.shape for judgement in judgements] == [(3, 2), (3, 2)]
    assert judgements[0].gold.tolist() == [1, 0, 1]
    assert scorer.num_pairs == 2 * (3 + calibrated)
    free = judgements[1].content_free
    if calibrated:
        assert free is not None
        assert np.array_equal(free, TableScorer().score([("x\n",)], ["N/A It was"], task.label_spans)[0, 0])
    else:
        assert free is None
