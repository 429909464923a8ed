from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lens_engine.config import SelectionConfig
from lens_engine.metering.cost import Cost
from lens_engine.metering.estimate import CostEstimate
from lens_engine.metering.prices import Prices, TokenLengths
from lens_engine.pipeline import select_support_examples
from lens_engine.rows.problem import Problem
from lens_engine.rows.splits import split_examples
from lens_engine.run.comparison_plan import CONFIRMED, FORMS, count_rivals
from lens_engine.run.preparation import price_run
from lens_engine.run.state import ComparisonState
from lens_engine.search.base import Run
from lens_engine.search.catalogue import make_method
from lens_engine.types import Phase

MakeConfig = Callable[..., SelectionConfig]
ROOMY: dict[str, Any] = {"search": {"children": 4, "halvings": 1}}
"""No child repeats, and none races: halving judges as many pairs as are planned."""


def estimate(problem: Problem, config: SelectionConfig, tokens_per_second: float | None = None) -> CostEstimate:
    prices = make_prices(problem, config)
    run = Run(problem.task, config, prices.rows, prices)
    return CostEstimate(price_run([run], make_method(run))).at_pace(tokens_per_second)


def make_prices(problem: Problem, config: SelectionConfig) -> Prices:
    return Prices(split_examples(problem, config), config, TokenLengths(demonstration=6.0, query=5.0))


class PhaseCounter:
    """Pairs done when each phase was last heard of."""

    def __init__(self) -> None:
        self.done: dict[Phase, int] = {}

    def on_progress(self, progress: Any) -> None:
        self.done[progress.phase] = progress.pairs_done

    def stop_requested(self) -> None:
        return None


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"seed": 3},
        {"comparisons": "none"},
        {"comparisons": "usual"},
        {"splits": {"confirmation": 0}},
        {"filtering": {"rho": 2.0, "keep": 30}},
        {"balanced": False},
        {"num_demonstrations": 5},
    ],
)
def test_run_spends_what_was_estimated_where_no_child_repeats(
    options: dict[str, Any],
    make_planted_problem: Callable[..., Problem],
    make_planted_scorer: Any,
    make_config: MakeConfig,
) -> None:
    problem, config, scorer = make_planted_problem(), make_config(**ROOMY, **options), make_planted_scorer()
    planned, counter = estimate(problem, config), PhaseCounter()

    result = select_support_examples(problem, scorer, config, listener=counter)

    assert counter.done[Phase.FILTER] == planned.phases[Phase.FILTER].pairs
    assert counter.done[Phase.SEARCH] - counter.done[Phase.FILTER] == planned.phases[Phase.SEARCH].pairs
    assert result.cost.pairs == scorer.num_pairs
    # Where both uses have the same prompt, it is confirmed and tested once; and random-and-validation gets less.
    assert 0 <= planned.total.pairs - result.cost.pairs <= 2 * 60 + 3 * 3 * 20


def test_estimate_is_an_upper_bound_where_children_repeat(
    make_planted_problem: Callable[..., Problem], make_planted_scorer: Any, make_config: MakeConfig
) -> None:
    problem, scorer = make_planted_problem(), make_planted_scorer()
    config = make_config(filtering={"keep": 4}, search={"iterations": 12, "children": 9})

    result = select_support_examples(problem, scorer, config)

    planned = estimate(problem, config)
    assert result.cost.permutations_judged <= 24
    assert scorer.num_pairs < planned.total.pairs


def test_judging_counts_queries_and_prefixes(
    make_planted_problem: Callable[..., Problem], make_config: MakeConfig
) -> None:
    prices = make_prices(make_planted_problem(), make_config())

    assert prices.judging(3, 10) == Cost(30, 3 * (4 * 6 + 10 * 5))
    assert prices.judging(1, 10, demonstrations=0) == Cost(10, 50)
    assert prices.judging(0, 10) == Cost()


def test_row_with_demonstrations_of_its_own_pays_for_all_of_them(
    make_planted_problem: Callable[..., Problem], make_config: MakeConfig
) -> None:
    prices = make_prices(make_planted_problem(), make_config())

    cost = prices.judging_pairs(2, 10, demonstrations=8)

    assert cost == Cost(20, 20 * (8 * 6 + 5))
    assert (cost.prompt_tokens, cost.prefixes) == (cost.tokens, 20)
    assert prices.judging_pairs(2, 10, demonstrations=0) == Cost(20, 100)
    told = replace(prices, lengths=TokenLengths(demonstration=6.0, query=5.0, opening=3))
    assert told.judging_pairs(2, 10, demonstrations=8) == cost + Cost(0, 20 * 3)


def test_rival_gets_equal_pairs_or_tokens_rounded_up_to_a_permutation(
    make_planted_problem: Callable[..., Problem], make_config: MakeConfig
) -> None:
    prices = make_prices(make_planted_problem(), make_config())  # 20 validation and 16 confirmation rows

    assert prices.rival_permutations(Cost(50 * 20 + 16)) == 50  # the best is judged on the confirmation rows too
    assert prices.rival_permutations(Cost(50 * 20 + 17)) == 51
    assert prices.rival_permutations(Cost(3)) == 1
    tokens = 50 * (4 * 6 + 20 * 5) + 4 * 6 + 16 * 5
    assert prices.rival_permutations(Cost(1_000, tokens)) == 50
    assert prices.rival_permutations(Cost(50 * 20 + 17, tokens + 1)) == 51
    assert prices.rival_permutations(Cost(1_000, tokens + 1)) == 51
    unmeasured = replace(prices, lengths=TokenLengths(0.0, 0.0))
    assert unmeasured.rival_permutations(Cost(50 * 20 + 16)) == 50


def test_lens_is_charged_with_the_forms(make_planted_problem: Callable[..., Problem], make_config: MakeConfig) -> None:
    problem, kinds = make_planted_problem(), ["fixed", "nearest", "fixed+nearest"]
    fixed = make_prices(problem, make_config(search={"forms": ["fixed"]}))
    tried = make_prices(problem, make_config(search={"forms": kinds}))

    assert (fixed.forms, fixed.choosing_form(), fixed.testing_form()) == ((), Cost(), Cost(60, 300))
    assert tried.lens == fixed.lens + tried.choosing_form()
    # Three of five forms, on 3 of 20 rows, then two on 2 more, and one on the rest and on 16 confirmation rows.
    sizes = [one.nearest + 4 * (one.kind != "nearest") for one in tried.forms]
    assert sorted(sizes) == [4, 8, 8, 12, 16]
    assert tried.choosing_form().pairs == 5 * 3 + 3 * 2 + 2 * 5 + 10 + 16
    assert tried.rival_permutations(tried.lens) > fixed.rival_permutations(fixed.lens)


def test_rival_costs_what_the_choice_did_and_no_more_than_is_planned(
    make_planted_problem: Callable[..., Problem], make_config: MakeConfig
) -> None:
    problem, config = make_planted_problem(), make_config(search={"forms": ["fixed", "nearest"]})
    prices = make_prices(problem, config)
    run = Run(problem.task, config, prices.rows, prices)
    method = make_method(run)
    planned = prices.rival_permutations(prices.lens)

    before = ComparisonState().paying(sum(method.price().values(), Cost()))
    assert count_rivals(run, method, before) == planned
    assert count_rivals(run, method, ComparisonState(choice_tokens=10**9)) == planned
    assert count_rivals(run, method, ComparisonState(done=(CONFIRMED, FORMS), choice_pairs=7 * 20 + 16)) == 7
    assert count_rivals(run, method, ComparisonState(done=(CONFIRMED,), choice_pairs=7 * 20 + 16)) > 7


def test_confirmation_not_asked_for_costs_nothing(
    make_planted_problem: Callable[..., Problem], make_config: MakeConfig
) -> None:
    prices = make_prices(make_planted_problem(), make_config(splits={"confirmation": 0}))

    assert prices.confirming(4) == Cost()


def test_seconds_are_shared_among_the_phases_by_their_tokens(
    make_planted_problem: Callable[..., Problem], make_config: MakeConfig
) -> None:
    problem, config = make_planted_problem(), make_config()
    timed = estimate(problem, config, 100.0)

    assert {phase: timed.seconds_of(phase) for phase in timed.phases} == {
        phase: pytest.approx(cost.tokens / 100) for phase, cost in timed.phases.items()
    }
    assert estimate(problem, config).seconds_of(Phase.SEARCH) is None
