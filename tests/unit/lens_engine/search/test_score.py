from itertools import product

import numpy as np
import pytest

from lens_engine.search.judgement import Judgement
from lens_engine.search.rounding import ROUNDING_NATS
from lens_engine.search.score import Score, measure_lead, rank_key

PROBABILITIES = np.array([[0.6, 0.2], [0.1, 0.3], [0.5, 0.25], [0.4, 0.1]], dtype=np.float32)
JUDGEMENT = Judgement(np.log(PROBABILITIES), np.array([0, 1, 1, 0]))


def make_judgement(margins: list[float]) -> Judgement:
    """Two labels, the first one gold, so far apart in each row."""
    log_probs = np.array([[margin - 9.0, -9.0] for margin in margins], dtype=np.float32)
    return Judgement(log_probs, np.zeros(len(margins), dtype=np.intp))


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


@pytest.mark.parametrize(("dtype", "close"), [("float32", (1, 0)), ("float16", (2, 1)), ("bfloat16", (3, 3))])
def test_close_rows_are_those_nearer_than_the_rounding(dtype: str, close: tuple[int, int]) -> None:
    score = Score.of(make_judgement([5e-5, 0.02, 0.2, 0.3, -0.01, -0.1, -0.2, -2.0]), dtype)

    assert (score.correct, score.n) == (4, 8)
    assert (score.close_hits, score.close_misses) == close


@pytest.mark.parametrize(
    ("best", "runner_up", "close_rows", "is_noise"),
    [
        (Score(90, 100, 1.0, close_hits=0), Score(89, 100, 1.0, close_misses=0), 0, False),
        (Score(90, 100, 1.0, close_hits=1), Score(89, 100, 1.0, close_misses=0), 1, True),
        (Score(90, 100, 1.0, close_hits=1), Score(87, 100, 1.0, close_misses=1), 2, False),
        (Score(90, 100, 1.0, close_hits=1), Score(87, 100, 1.0, close_misses=2), 3, True),
        # the best's misses and the runner-up's hits could only widen the lead
        (Score(90, 100, 1.0, close_misses=9), Score(89, 100, 1.0, close_hits=9), 0, False),
        # level: the margins decide, unless they are closer than the rounding, or a row may turn
        (Score(90, 100, 1.5), Score(90, 100, 1.0), 0, False),
        (Score(90, 100, 1.1), Score(90, 100, 1.0), 0, True),
        (Score(90, 100, 1.5), Score(90, 100, 1.0, close_misses=1), 1, True),
    ],
)
def test_lead_is_noise_when_as_many_rows_may_turn(
    best: Score, runner_up: Score, close_rows: int, is_noise: bool
) -> None:
    lead = measure_lead(best, runner_up, rounding=0.25)

    assert (lead.rows, lead.n) == (best.correct - runner_up.correct, 100)
    assert (lead.close_rows, lead.within_noise) == (close_rows, is_noise)


@pytest.mark.parametrize("seed", range(20))
def test_error_below_the_rounding_cannot_turn_a_clear_lead(seed: int) -> None:
    rng = np.random.default_rng(seed)
    margins = rng.normal(0.3, 0.5, size=(2, 12))
    rounding = ROUNDING_NATS["float16"] * 0.99
    first, second = sorted(
        (Score.of(make_judgement(list(one)), "float16") for one in margins), key=lambda s: -s.correct
    )
    lead = measure_lead(first, second, ROUNDING_NATS["float16"])
    order = np.argsort([-int((one > 0).sum()) for one in margins], kind="stable")

    worst = min(
        int((margins[order[0]] - down * rounding > 0).sum()) - int((margins[order[1]] + up * rounding > 0).sum())
        for down, up in product((0.0, 1.0), repeat=2)
    )

    assert worst == lead.rows - lead.close_rows
    assert lead.within_noise or worst > 0 or lead.rows == 0


def test_macro_f1_ranks_if_it_is_the_objective() -> None:
    gold = np.array([1] * 2 + [0] * 6)
    finds = Judgement(np.log(np.array([[0.4, 0.6]] * 5 + [[0.6, 0.4]] * 3, np.float32)), gold)  # 5 of 8 right
    plain = Judgement(np.log(np.array([[0.6, 0.4]] * 8, np.float32)), gold)  # 6 of 8 right
    first, second = (Score.of(one) for one in (finds, plain))
    assert rank_key((0,), second) < rank_key((0,), first)
    first, second = (Score.of(one, objective="macro_f1") for one in (finds, plain))
    assert rank_key((0,), first) < rank_key((0,), second)
    assert first.value == pytest.approx((2 / 3 + 4 / 7) / 2)


@pytest.mark.parametrize("seed", range(40))
def test_error_below_the_rounding_cannot_turn_a_clear_lead_of_macro_f1(seed: int) -> None:
    rng, rounding = np.random.default_rng(seed), ROUNDING_NATS["float16"]
    gold = np.array([0] * 9 + [1] * 3)
    log_probs = rng.normal(size=(2, 12, 2)) / 4
    log_probs[:, np.arange(12), gold] += 0.2
    judgements = [Judgement(one.astype(np.float32), gold) for one in log_probs]
    scores = [Score.of(one, "float16", "macro_f1") for one in judgements]
    places = sorted((0, 1), key=lambda one: -scores[one].macro_f1)
    lead = measure_lead(scores[places[0]], scores[places[1]], rounding)
    assert lead.macro_f1 == abs(scores[0].macro_f1 - scores[1].macro_f1)
    for _ in range(50):
        moved = [log_probs[place] + rng.uniform(-0.49, 0.49, size=(12, 2)) * rounding for place in places]
        first, second = (Judgement(one.astype(np.float32), gold).macro_f1 for one in moved)
        assert lead.within_noise or first > second or lead.macro_f1 == 0
