import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from lens_engine.classifier.quality import interval
from lens_engine.judging.judgement import Judgement, spread
from lens_engine.judging.statistics import compare


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662)],
)
def test_interval_is_wilsons(hits: int, n: int, low: float, high: float) -> None:
    # the last: Newcombe (1998), Statistics in Medicine 17, table I
    assert interval(hits, n) == pytest.approx((low, high), abs=1e-4)


def test_spread_is_over_permutations_with_the_samples_deviation() -> None:
    shares = [np.where(np.arange(4) < hits, 0.9, 0.1) for hits in (2, 3, 4)]
    judgements = [
        Judgement(np.log(np.stack([share, 1 - share], axis=1).astype(np.float32)), np.zeros(4, dtype=np.intp))
        for share in shares
    ]

    found = spread(judgements)

    assert (found.mean, found.min, found.max) == pytest.approx((0.75, 0.5, 1.0))
    assert found.sd == pytest.approx(np.std([0.5, 0.75, 1.0], ddof=1))
    assert (found.permutations, found.n) == (3, 4)


def mark(*ranges: tuple[int, int]) -> np.ndarray:
    hits = np.zeros(100, dtype=bool)
    for start, stop in ranges:
        hits[start:stop] = True
    return hits


def test_comparison_counts_only_rows_where_one_is_right() -> None:
    found = compare("bag_of_words", mark((0, 60)), mark((0, 45), (60, 65)))

    assert (found.rival, found.only_ensemble_right, found.only_rival_right) == ("bag_of_words", 15, 5)
    assert (found.ensemble_is_ahead, found.is_significant) == (True, True)
    assert found.p_value == pytest.approx(0.041389, abs=1e-6)  # the exact test of 15 against 5


@given(only_classifier=st.integers(0, 40), only_rival=st.integers(0, 40))
def test_p_value_is_twice_the_binomial_tail(only_classifier: int, only_rival: int) -> None:
    found = compare("long_prompt", mark((0, only_classifier)), mark((50, 50 + only_rival)))

    tail = 2 * binom.cdf(min(only_classifier, only_rival), only_classifier + only_rival, 0.5)
    assert found.p_value == pytest.approx(min(tail, 1.0))
    assert (found.ensemble_is_ahead, found.is_significant) == (only_classifier > only_rival, found.p_value < 0.05)
