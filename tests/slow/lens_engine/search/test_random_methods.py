"""Zero-shot, random, and random-and-validation, through a selection."""

from collections.abc import Callable
from typing import Any

import pytest

from lens_engine.config import SelectionConfig
from lens_engine.errors import InvalidConfig
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.rows.splits import split_examples
from lens_engine.run.checkpoint import Checkpoint
from lens_engine.search.judgement import EvaluationRows, judge
from lens_engine.search.objective import PromptObjective
from lens_engine.search.permutations import draw_permutations
from lens_engine.search.score import rank_key
from lens_engine.types import Phase, StopReason

Make = Callable[..., Any]


def find_best_by_hand(problem: Problem, config: SelectionConfig, meter: Any, count: int) -> tuple[int, ...]:
    """Rows of the best of `count` random permutations, each judged on every validation row."""
    rows = split_examples(problem, config)
    drawn = draw_permutations(rows.candidates, problem.task, rows.quotas, config.seed, 0, count)
    prefixes = problem.task.render_permutations(rows.candidates, drawn)
    judgements = judge(meter, prefixes, EvaluationRows(problem.task, rows.validation))
    scores = PromptObjective().scores(judgements, is_final=True)
    best = min(range(count), key=lambda number: rank_key((number,), scores[number]))
    return tuple(rows.candidates[index].row for index in drawn[best])


def test_zero_shot_has_no_demonstrations(select: Callable[..., SelectionResult]) -> None:
    result = select("zero_shot")

    assert result.examples == ()
    assert result.test is not None
    assert [one.method for one in result.answer.contenders] == ["zero_shot"]


def test_random_is_the_first_of_the_random_permutations(
    select: Callable[..., SelectionResult], problem: Problem, make_config: Make
) -> None:
    config = make_config(method="random")
    rows = split_examples(problem, config)
    first = draw_permutations(rows.candidates, problem.task, rows.quotas, config.seed, 0, 1)[0]

    assert select("random").rows == tuple(rows.candidates[index].row for index in first)


def test_random_and_validation_keeps_the_best_on_the_validation_rows(
    select: Callable[..., SelectionResult],
    problem: Problem,
    make_config: Make,
    make_meter: Make,
    make_planted_scorer: Make,
) -> None:
    result = select("random_and_validation", random_search={"permutations": 21})

    best = find_best_by_hand(problem, make_config(), make_meter(make_planted_scorer()), 21)
    assert result.rows == best
    assert result.cost.permutations_judged == 21
    assert result.answer.judged is not None
    assert result.answer.judged.n == 20 + 16


def test_budget_ends_random_and_validation_with_the_best_so_far(
    select: Callable[..., SelectionResult],
    problem: Problem,
    make_config: Make,
    make_meter: Make,
    make_planted_scorer: Make,
) -> None:
    budget = {"max_pairs": 121 + 18 * 20}

    result = select("random_and_validation", budget=budget)

    assert result.partial
    assert result.stop_reason is StopReason.BUDGET
    assert result.rows == find_best_by_hand(problem, make_config(), make_meter(make_planted_scorer()), 16)
    assert "the search ended after 16 of 115 random sets of examples" in result.warnings


def test_higher_budget_finishes_only_an_unevaluated_search(
    select: Callable[..., SelectionResult], make_store: Make
) -> None:
    store = make_store()
    select("random_and_validation", budget={"max_pairs": 121 + 18 * 20}, checkpoints=store)
    in_search = [data for data in store.saved if Checkpoint.from_bytes(data).phase is Phase.SEARCH]

    finished = select("random_and_validation", checkpoints=make_store(in_search[-1]))
    ended = select("random_and_validation", checkpoints=make_store(store.saved[-1]))

    assert not finished.partial
    assert ended.stop_reason is StopReason.BUDGET


def test_budget_without_room_for_one_permutation_is_refused(select: Callable[..., SelectionResult]) -> None:
    with pytest.raises(InvalidConfig, match="a first set of examples with the test rows takes 140") as caught:
        select("random_and_validation", budget={"max_pairs": 139})

    assert caught.value.field == "options.budget.max_pairs"
