"""Whole runs with the race and without: the same choice in the same order, for fewer pairs."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from lens_engine import select_support_examples
from lens_engine.config import SelectionConfig
from lens_engine.judging.judgement import judge
from lens_engine.judging.outcome import Finished, Outcome
from lens_engine.judging.race import Incumbents
from lens_engine.judging.ranker import Ranker
from lens_engine.judging.score import Score
from lens_engine.methods.lens.beam import SearchState
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.run.checkpoint import Checkpoint
from lens_engine.run.preparation import prepare_run
from lens_engine.run.state import RunState
from lens_engine.testing import TableScorer, hashed_log_prob
from lens_engine.types import Permutation, Phase

Make = Callable[..., Any]
SEARCH = {"beam_width": 4, "substitutions": 4, "reorderings": 2, "iterations": 4}


def coarse_log_prob(prefix: tuple[str, ...], query: str, span: str) -> float:
    """Few different values, so that rows, margins and accuracies tie all the time."""
    return round(hashed_log_prob(prefix, query, span) / 4.0) * 4.0 - 1.0


def judge_all(
    ranker: Ranker,
    permutations: Sequence[Permutation],
    incumbents: Incumbents,  # noqa: ARG001
    places: int,  # noqa: ARG001
) -> list[Outcome]:
    """In the place of `Ranker.race`: every permutation on every row."""
    prefixes = ranker.rows.task.render_permutations(ranker.examples, permutations)
    judgements = judge(ranker.meter, prefixes, ranker.rows, calibrated=ranker.calibrated)
    return [Finished(judgement, Score.of(judgement)) for judgement in judgements]


@pytest.fixture
def select(
    make_planted_problem: Make,
    make_planted_scorer: Make,
    make_config: Make,
    make_store: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> Make:
    """A run with the race, or with everything judged: its result, its search when it was over, and its scorer."""

    def run(*, races: bool, ties: bool = False, **options: Any) -> tuple[SelectionResult, SearchState, TableScorer]:
        problem: Problem = make_planted_problem()
        scorer = TableScorer(coarse_log_prob) if ties else make_planted_scorer()
        splits = {"validation": 40, "confirmation": 8, "test": 20}
        config: SelectionConfig = make_config(splits=splits, search={**SEARCH, **options.pop("search", {})}, **options)
        store = make_store()
        with monkeypatch.context() as patch:
            if not races:
                patch.setattr(Ranker, "race", judge_all)
            result = select_support_examples(problem, scorer, config, checkpoints=store)
        saved = [Checkpoint.from_bytes(data) for data in store.saved]
        last = max((one for one in saved if one.phase is Phase.SEARCH), key=lambda one: one.step)
        lens = prepare_run(problem, make_planted_scorer(), config).method
        return result, RunState.from_checkpoint(lens, last).method.search, scorer

    return run


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "options", [{}, {"ties": True}, {"calibrated_search": True}, {"search": {"beam_width": 1}, "ties": True}]
)
def test_choice_beam_and_scores_are_the_same_for_fewer_pairs(seed: int, options: dict[str, Any], select: Make) -> None:
    (on, raced, scorer_on), (off, whole, scorer_off) = (
        select(races=races, seed=seed, **options) for races in (True, False)
    )

    assert raced.beam == whole.beam
    for permutation in raced.beam:
        assert raced.scores[permutation] == whole.scores[permutation]
    assert raced.margins.tobytes() == whole.margins.tobytes()
    kept = {"cost"}
    assert on.model_dump(exclude=kept) == off.model_dump(exclude=kept)
    assert on.cost.permutations_judged == off.cost.permutations_judged
    assert off.cost.permutations_dropped == 0
    assert on.cost.pairs < off.cost.pairs
    assert scorer_on.num_pairs < scorer_off.num_pairs


@pytest.mark.parametrize("seed", range(3))
def test_dropped_permutations_keep_an_upper_bound_of_their_hits(seed: int, select: Make) -> None:
    _, raced, _ = select(races=True, seed=seed)
    _, whole, _ = select(races=False, seed=seed)

    assert raced.dropped
    assert not raced.dropped.keys() & raced.scores.keys()
    assert raced.dropped.keys() | raced.scores.keys() == whole.scores.keys()
    worst = min(raced.scores[permutation].correct for permutation in raced.beam)
    for permutation, most in raced.dropped.items():
        assert whole.scores[permutation].correct <= most < worst


def test_rival_gets_as_many_permutations_as_were_judged(select: Make) -> None:
    result, search, _ = select(races=True)
    rival = result.baselines.random_and_validation

    ours = len(search.scores) + len(search.dropped)
    assert result.cost.permutations_judged == ours
    assert result.cost.permutations_dropped == len(search.dropped)
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
