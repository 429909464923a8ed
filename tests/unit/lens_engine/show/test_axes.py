"""Axes: every figure has a place, and ticks are round."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lens_engine.show.axes import fit_amounts, fit_shares, list_ticks

SHARES = st.lists(st.floats(0, 1), max_size=8)
AMOUNTS = st.lists(st.floats(0, 1e9, allow_subnormal=False), max_size=8)


@given(SHARES)
def test_shares_fit_within_nought_and_one(values: list[float]) -> None:
    axis = fit_shares(values, 8, 230)
    assert 0 <= axis.low < axis.high <= 1
    assert axis.high - axis.low >= 0.1 - 1e-9
    assert all(axis.low <= value <= axis.high for value in values)
    assert all(8 <= axis.at(value) <= 230 for value in values)
    assert 1 <= len(axis.ticks) <= 7


@given(AMOUNTS)
def test_amounts_begin_at_nought_and_keep_their_order(values: list[float]) -> None:
    axis = fit_amounts(values, 30, 340)
    placed = [axis.at(value) for value in sorted(values)]
    assert placed == sorted(placed)
    assert axis.at(0) == 30
    assert axis.ticks[0] == 0


def test_axis_is_logarithmic_where_amounts_are_far_apart() -> None:
    assert fit_amounts([0, 40, 80], 0, 100).at(40) == 50
    assert fit_amounts([0, 10, 9_999], 0, 100).at(99) == 50
    assert fit_amounts([0, 10, 10_000], 0, 100).ticks == (0, 1, 10, 100, 1_000, 10_000)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.5, 0.93, (0.5, 0.6, 0.7, 0.8, 0.9)),
        (0.84, 0.94, (0.84, 0.86, 0.88, 0.9, 0.92, 0.94)),
        (0, 203, (0, 50, 100, 150, 200)),
    ],
)
def test_ticks_are_round(low: float, high: float, ticks: tuple[float, ...]) -> None:
    assert list_ticks(low, high) == ticks
