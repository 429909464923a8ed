from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from lens_engine.plan import Rung, plan_rungs


def test_each_rung_has_half_the_permutations_on_twice_the_rows() -> None:
    assert plan_rungs(112, 100, 3, least=4) == [Rung(112, 0, 13), Rung(56, 13, 25), Rung(28, 25, 50), Rung(14, 50, 100)]


def test_last_rung_takes_all_rows_when_none_can_be_dropped() -> None:
    assert plan_rungs(16, 100, 3, least=4) == [Rung(16, 0, 13), Rung(8, 13, 25), Rung(4, 25, 100)]
    assert plan_rungs(3, 100, 3, least=4) == [Rung(3, 0, 100)]


def test_without_halvings_everything_is_judged_on_every_row() -> None:
    assert plan_rungs(9, 20, 0, least=4) == [Rung(9, 0, 20)]


@given(
    num_permutations=st.integers(1, 300),
    num_rows=st.integers(1, 300),
    halvings=st.integers(0, 8),
    least=st.integers(1, 20),
)
def test_rungs_cover_the_rows_and_leave_enough_for_the_beam(
    num_permutations: int, num_rows: int, halvings: int, least: int
) -> None:
    rungs = plan_rungs(num_permutations, num_rows, halvings, least)

    assert [rung.start for rung in rungs] == [0, *(rung.end for rung in rungs[:-1])]
    assert rungs[-1].end == num_rows
    assert all(rung.end > rung.start for rung in rungs)
    assert all(rung.permutations > after.permutations for rung, after in pairwise(rungs))
    assert rungs[0].permutations == num_permutations
    assert rungs[-1].permutations >= min(num_permutations, least)
    assert sum(rung.pairs for rung in rungs) <= num_permutations * num_rows
