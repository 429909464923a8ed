"""Whole runs with elimination on and off: the same choice in the same order, for fewer pairs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lens_engine import select_support_examples
from lens_engine.config import SelectionConfig
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.run.checkpoint import Checkpoint
from lens_engine.run.state import RunState
from lens_engine.testing import TableScorer, hashed_log_prob
from lens_engine.types import Phase

Make = Callable[..., Any]
SEARCH = {"beam_width": 4, "substitutions": 4, "reorderings": 2, "iterations": 4}


def coarse_log_prob(prefix: tuple[str, ...], query: str, span: str) -> float:
    """Few different values, so that rows, margins and accuracies tie all the time."""
    return round(hashed_log_prob(prefix, query, span) / 4.0) * 4.0 - 1.0


@pytest.fixture(scope="module")
def select(make_planted_problem: Make, make_planted_scorer: Make, make_config: Make, make_store: Make) -> Make:
    """A run with elimination on or off: its result, its state when the search was over, and its scorer."""

    def run(*, elimination: bool, ties: bool = False, **options: Any) -> tuple[SelectionResult, RunState, TableScorer]:
        problem: Problem = make_planted_problem()
        scorer = TableScorer(coarse_log_prob) if ties else make_planted_scorer()
        splits = {"validation": 40, "confirmation": 8, "test": 20}
        search = {**SEARCH, **options.pop("search", {}), "elimination": elimination}
        config: SelectionConfig = make_config(splits=splits, search=search, **options)
        store = make_store()
        result = select_support_examples(problem, scorer, config, checkpoints=store)
        saved = [Checkpoint.from_bytes(data) for data in store.saved]
        last = max((one for one in saved if one.phase is Phase.SEARCH), key=lambda one: one.step)
        return result, RunState.from_checkpoint(last), scorer

    return run


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "options", [{}, {"ties": True}, {"calibrated_search": True}, {"search": {"beam_width": 1}, "ties": True}]
)
def test_choice_beam_and_standings_are_the_same_for_fewer_pairs(
    seed: int, options: dict[str, Any], select: Make
) -> None:
    (on, state_on, scorer_on), (off, state_off, scorer_off) = (
        select(elimination=elimination, seed=seed, **options) for elimination in (True, False)
    )

    assert state_on.search.beam == state_off.search.beam
    for permutation in state_on.search.beam:
        assert state_on.search.standings[permutation] == state_off.search.standings[permutation]
    assert state_on.search.margins.tobytes() == state_off.search.margins.tobytes()
    kept = {"cost", "digest", "provenance"}
    assert on.model_dump(exclude=kept) == off.model_dump(exclude=kept)
    assert on.cost.permutations_judged == off.cost.permutations_judged
    assert off.cost.permutations_dropped == 0
    assert on.cost.pairs < off.cost.pairs
    assert scorer_on.num_pairs < scorer_off.num_pairs


@pytest.mark.parametrize("seed", range(3))
def test_eliminated_permutations_are_kept_apart_with_what_they_could_have_had(seed: int, select: Make) -> None:
    _, state, _ = select(elimination=True, seed=seed)
    _, whole, _ = select(elimination=False, seed=seed)
    search = state.search

    assert search.eliminated
    assert not search.eliminated.keys() & search.standings.keys()
    assert search.eliminated.keys() | search.standings.keys() == whole.search.standings.keys()
    worst = min(search.standings[permutation].correct for permutation in search.beam)
    for permutation, most in search.eliminated.items():
        assert whole.search.standings[permutation].correct <= most < worst


def test_rival_is_given_as_many_permutations_as_were_evaluated_in_whole_or_in_part(select: Make) -> None:
    result, state, _ = select(elimination=True)
    rival = result.baselines.random_and_validation

    ours = len(state.search.standings) + len(state.search.eliminated)
    assert result.cost.permutations_judged == ours
    assert result.cost.permutations_dropped == len(state.search.eliminated)
    assert rival.permutations == int(np.ceil(ours + 4 * 8 / 40))


@pytest.mark.parametrize("step", range(1, 5))
def test_run_resumed_between_races_spends_and_finds_the_same(
    step: int, make_planted_problem: Make, make_planted_scorer: Make, make_config: Make, make_store: Make
) -> None:
    config = make_config(splits={"validation": 40, "confirmation": 8, "test": 20}, search=SEARCH)
    store = make_store()
    whole = select_support_examples(make_planted_problem(), make_planted_scorer(), config, checkpoints=store)
    first = next(data for data in store.saved if _is_search_step(data, step))

    resumed = select_support_examples(
        make_planted_problem(), make_planted_scorer(), config, checkpoints=make_store(first)
    )

    assert resumed.digest == whole.digest
    assert resumed.cost.pairs == whole.cost.pairs
    assert resumed.cost.permutations_dropped == whole.cost.permutations_dropped > 0


def _is_search_step(data: bytes, step: int) -> bool:
    checkpoint = Checkpoint.from_bytes(data)
    return (checkpoint.phase, checkpoint.step) == (Phase.SEARCH, step)
