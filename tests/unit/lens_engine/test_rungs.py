from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lens_engine.config import FilteringOptions
from lens_engine.randomness import make_generator
from lens_engine.rows.plan import FilterRound, Rung, plan_rounds, plan_rungs


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
def test_rungs_cover_rows_and_leave_a_beam(num_permutations: int, num_rows: int, halvings: int, least: int) -> None:
    rungs = plan_rungs(num_permutations, num_rows, halvings, least)

    assert [rung.start for rung in rungs] == [0, *(rung.end for rung in rungs[:-1])]
    assert rungs[-1].end == num_rows
    assert all(rung.end > rung.start for rung in rungs)
    assert all(rung.permutations > after.permutations for rung, after in pairwise(rungs))
    assert rungs[0].permutations == num_permutations
    assert rungs[-1].permutations >= min(num_permutations, least)
    assert sum(rung.pairs for rung in rungs) <= num_permutations * num_rows


def test_paper_settings_of_sst2_make_four_rounds() -> None:
    rounds = plan_rounds(6920, FilteringOptions(rho=2.0, initial_score_size=14, keep=500))

    assert [plan.score_size for plan in rounds] == [14, 28, 56, 112]
    assert [plan.keep for plan in rounds] == [3460, 1730, 865, 500]
    assert [plan.candidates for plan in rounds] == [6920, 3460, 1730, 865]
    assert [plan.new_columns for plan in rounds] == [14, 14, 28, 56]


@pytest.mark.parametrize("rounds", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("candidates", [501, 999, 2000, 6920])
def test_derived_rho_gives_the_rounds_asked_for(candidates: int, rounds: int) -> None:
    planned = plan_rounds(candidates, FilteringOptions(keep=500, rounds=rounds))

    assert len(planned) <= rounds
    assert planned[-1].keep == 500
    assert len(planned) == rounds or candidates < 1000


@pytest.mark.parametrize("candidates", [1, 2, 499, 500])
def test_few_candidates_get_one_round_on_the_last_score_set(candidates: int) -> None:
    rounds = plan_rounds(candidates, FilteringOptions(keep=500, initial_score_size=14, rounds=4))

    assert rounds == [FilterRound(candidates, score_size=112, new_columns=112, keep=candidates)]


def test_score_set_stops_growing_at_its_limit() -> None:
    options = FilteringOptions(rho=2.0, keep=10, initial_score_size=8, max_score_size=20)

    assert [plan.score_size for plan in plan_rounds(160, options)] == [8, 16, 20, 20]
    assert [plan.new_columns for plan in plan_rounds(160, options)] == [8, 8, 4, 0]


@given(
    candidates=st.integers(1, 20_000),
    keep=st.integers(2, 2000),
    rho=st.none() | st.floats(1.1, 100.0),
    rounds=st.integers(1, 20),
    initial=st.integers(1, 300),
    limit=st.integers(1, 300),
)
def test_any_plan_shrinks_to_what_is_kept_and_scores_each_column_once(
    candidates: int, keep: int, rho: float | None, rounds: int, initial: int, limit: int
) -> None:
    options = FilteringOptions(rho=rho, keep=keep, rounds=rounds, initial_score_size=initial, max_score_size=limit)

    planned = plan_rounds(candidates, options)

    assert planned[0].candidates == candidates
    assert planned[-1].keep == min(keep, candidates)
    assert sum(plan.new_columns for plan in planned) == planned[-1].score_size <= limit
    for earlier, later in pairwise(planned):
        assert earlier.keep == later.candidates < earlier.candidates
        assert earlier.score_size <= later.score_size
    if rho is None:
        assert len(planned) <= rounds


@pytest.mark.parametrize(
    ("seed", "stage", "steps"), [(4, "search", (2,)), (3, "order", (2,)), (3, "search", (3,)), (3, "search", ())]
)
def test_any_other_seed_stage_or_step_gives_other_numbers(seed: int, stage: str, steps: tuple[int, ...]) -> None:
    assert make_generator(seed, stage, *steps).random() != make_generator(3, "search", 2).random()
