"""The choice by the table of answers, and what is expected of it, on tables whose truth is known."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from lens_engine.classifier.quality import wilson
from lens_engine.run.choose import Scores, correct, measure_growth

NAN = np.nan


def make_scores(hits: Any, prices: Any = None, smoothed: Any = None, kinds: Any = None) -> Scores:
    values, none = np.array(hits, dtype=np.float64), np.zeros(len(hits))
    given_prices = none if prices is None else np.array(prices, dtype=np.float64)
    own = none.astype(int) if kinds is None else np.array(kinds)
    return Scores(values, values if smoothed is None else np.array(smoothed, dtype=np.float64), given_prices, own)


def draw_table(rng: np.random.Generator, num_rows: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """True accuracies of 23 contenders, and their hits: rows are easy or hard for all of them, and 5 % are unknown."""
    truth = rng.normal(0.75, spread, 23)
    ease = np.sqrt(0.3) * rng.normal(size=num_rows) + np.sqrt(0.7) * rng.normal(size=(23, num_rows))
    hits = (ease < norm.ppf(truth)[:, None]).astype(float)
    hits[rng.random(hits.shape) < 0.05] = NAN
    return truth, hits


@pytest.mark.parametrize(("num_rows", "spread"), [(30, 0.03), (50, 0.0), (50, 0.03)])
def test_expected_accuracy_has_no_optimism_where_the_naive_one_has(num_rows: int, spread: float) -> None:
    rng, errors, naive, holds = np.random.default_rng(1), list[float](), list[float](), list[bool]()
    for _ in range(60):
        truth, hits = draw_table(rng, num_rows, spread)
        scores = make_scores(hits, rng.permutation(23))
        own, found = truth[scores.choose()], correct(scores, scores.choose, hits, {}, rng, 60)
        assert found.figure == pytest.approx(found.accuracy)  # the objective is the accuracy
        errors.append(found.accuracy - own)
        naive.append(found.naive - own)
        holds.append(found.low <= own <= found.high)
    assert abs(np.mean(errors)) < 0.02
    assert np.mean(naive) > 0.03
    assert np.mean(holds) >= 0.9


def lag(best: list[float], other: list[float]) -> tuple[float, float]:
    """How far a contender is behind the best on the rows that both answer, and the standard error, by hand."""
    found = np.array([one - two for one, two in zip(best, other, strict=True) if not np.isnan(one + two)])
    return found.mean(), found.std() / np.sqrt(max(len(found) - 1, 1))


@given(seed=st.integers(0, 2**32), num_rows=st.integers(5, 200), num=st.integers(1, 12), levels=st.integers(1, 4))
def test_choice_is_the_cheapest_that_is_level_with_the_best(seed: int, num_rows: int, num: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    hits = (rng.random((num, num_rows)) < rng.uniform(0.6, 0.9, (num, 1))).astype(float)
    hits[:, 1:][rng.random((num, num_rows - 1)) < 0.1] = NAN  # every contender answers the first row
    prices = rng.integers(levels, size=num)
    best = int(np.nanmean(hits, axis=1).argmax())
    chosen = make_scores(hits, prices).choose()
    behind = [lag(hits[best], one) for one in hits]
    is_level = [one == best or gap <= min(error, 0.02) for one, (gap, error) in enumerate(behind)]
    assert is_level[chosen]
    assert prices[chosen] == min(price for price, fits in zip(prices, is_level, strict=True) if fits)


ROWS = 100
RIGHT = [1.0] * 90 + [0.0] * 10


@pytest.mark.parametrize(
    ("other", "prices", "less", "expected"),
    [
        ([1.0] * 89 + [0.0] * 11, (2, 1), (0, 0), 1),  # one row behind, which is its standard error
        ([1.0] * 88 + [0.0] * 12, (2, 1), (0, 0), 0),  # two points behind, which is more than the standard error
        ([1.0] * 60 + [0.0] * 20 + [1.0] * 10 + [1.0] * 10, (2, 1), (0, 0), 0),  # ten points behind, though noisy
        ([1.0] * 89 + [0.0] * 11, (1, 2), (0, 0), 0),
        (RIGHT, (1, 1), (0.5, 0.4), 1),  # as often right and as dear: the wider margins
        ([1.0] * 50 + [NAN] * 50, (2, 1), (0, 0), 1),
        ([0.0] * 20 + [NAN] * 80, (2, 1), (0, 0), 0),
        ([NAN] * 100, (2, 1), (0, 0), 0),  # no answer at all
    ],
)
def test_choice_of_two(other: list[float], prices: Any, less: Any, expected: int) -> None:
    hits = [RIGHT, other]
    assert make_scores(hits, prices, np.array(hits) - np.array(less)[:, None]).choose() == expected


def test_smoothed_hits_rank_contenders_of_a_kind_and_hits_the_best_of_each() -> None:
    hits = [RIGHT, [0.0] * 11 + [1.0] * 89, [1.0] * 92 + [0.0] * 8]
    smoothed = np.array(hits) - np.array([0.3, 0.1, 0.5])[:, None]
    assert make_scores(hits, None, smoothed).choose() == 1
    assert make_scores(hits, None, smoothed, (0, 0, 1)).choose() == 2
    assert make_scores(hits[:2], None, smoothed[:2], (0, 1)).choose() == 0
    assert make_scores([RIGHT, [NAN] * 99 + [1.0]], kinds=(0, 1)).choose(np.array([1.0] * 99 + [0.0])) == 0
    assert make_scores(hits, None, smoothed, (0, 0, 1)).means(np.ones((1, ROWS)))[0] == pytest.approx([0.7, 0.89, 0.92])


def test_rows_that_are_not_drawn_do_not_choose() -> None:
    first, second = [1.0] * 10 + [0.0] * 90, [0.0] * 10 + [1.0] * 90
    weights = np.array([1.0] * 10 + [0.0] * 90)
    assert make_scores([first, second]).choose() == 1
    assert make_scores([first, second]).choose(weights) == 0
    assert make_scores([first, second]).choose(1 - weights) == 1


def test_chances_are_the_shares_of_bags_in_which_each_is_best_and_is_chosen() -> None:
    rng = np.random.default_rng(0)
    same, other = rng.random(50) < 0.8, rng.random(50) < 0.7
    prices = (None, (2, 1))
    level, dearer = (make_scores([same, other], price).chances(np.random.default_rng(3)) for price in prices)
    few, few_dearer = (make_scores([same[:29], other[:29]], p).chances(np.random.default_rng(3)) for p in prices)
    assert level.sum(axis=1).tolist() == [1.0, 1.0]
    assert 0.5 < dearer[1, 0] < dearer[0, 0] == level[0, 0] < 1.0
    assert few.tolist() == few_dearer.tolist() == [few[0].tolist()] * 2
    assert make_scores([same]).chances(rng).tolist() == [[1.0]] * 2
    assert make_scores([[1.0] * 9, [0.0] * 9, [NAN] * 9]).chances(rng).tolist() == [[1.0, 0.0, 0.0]] * 2


def test_rivals_are_beaten_in_the_share_of_the_bags_and_ties_count_half() -> None:
    right, wrong = [1.0] * 40, [0.0] * 40
    hits = np.array([right, right, wrong, wrong])
    found = correct(
        make_scores(hits),
        lambda _: 0,
        hits,
        {"same": [1], "wrong": [2], "mean": [1, 2], "none": []},
        np.random.default_rng(0),
        50,
    )
    assert found.beats == {"same": 0.5, "wrong": 1.0, "mean": 1.0}
    assert (found.figure, found.accuracy, found.naive) == (1.0, 1.0, 1.0)
    assert (found.low, found.high) == pytest.approx(tuple(binomtest(32, 32).proportion_ci(method="wilson")))


def test_interval_is_wilsons_also_where_hits_are_no_whole_number() -> None:
    known = binomtest(3, 4).proportion_ci(method="wilson")
    assert wilson(0.75, 4) == pytest.approx((known.low, known.high))
    assert wilson(0.755, 100)[0] < 0.755 < wilson(0.755, 100)[1]
    assert wilson(1.01, 10)[1] == 1.0


def test_more_rows_are_worth_less_the_more_there_are() -> None:
    found = dict[int, float]()
    for num_rows in (20, 60, 180):
        rng = np.random.default_rng(0)
        tables = (make_scores(draw_table(rng, num_rows, 0.08)[1]) for _ in range(25))
        grown = [measure_growth(one, one.choose, rng) for one in tables]
        assert all(one is not None and one >= 0.0 for one in grown)
        found[num_rows] = float(np.mean([one for one in grown if one is not None]))
    assert found[20] > found[60] > found[180] > 0.0
    few, enough = make_scores(np.ones((2, 9))), make_scores(np.ones((2, 10)))
    assert measure_growth(few, few.choose, np.random.default_rng(0)) is None
    assert measure_growth(enough, enough.choose, np.random.default_rng(0)) == 0.0


def test_nothing_is_left_to_gain_where_contenders_are_alike_or_one_leads() -> None:
    rng = np.random.default_rng(0)
    noise, few = (rng.random((6, 200)) < 0.8).astype(float), (rng.random((6, 49)) < 0.8).astype(float)
    leader = np.vstack([np.ones(200), noise])
    close = np.vstack([np.arange(200) % 4 > 0, np.arange(200) % 4 < 3, rng.random((4, 200)) < 0.3]).astype(float)
    assert make_scores(few).what_is_left_to_gain(rng) == np.inf
    assert make_scores(few[:1]).what_is_left_to_gain(rng) == 0.0
    assert make_scores(leader).what_is_left_to_gain(rng) == 0.0
    assert make_scores(noise[[0] * 6]).what_is_left_to_gain(rng) == 0.0
    assert make_scores(noise).what_is_left_to_gain(rng) < 0.01 < make_scores(close).what_is_left_to_gain(rng)
