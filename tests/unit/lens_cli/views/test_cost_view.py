"""The table of an estimate."""

from io import StringIO

import pytest
from rich.console import Console

from lens_cli.views.cost import show_estimates
from lens_engine.config import BudgetOptions
from lens_engine.metering.cost import Cost
from lens_engine.pricing.estimate import CostEstimate
from lens_engine.result import Splits
from lens_engine.types import Phase

PHASES = {Phase.FILTER: Cost(1_200, 30_000), Phase.SEARCH: Cost(4_000, 60_000), Phase.EVALUATE: Cost(800, 10_000)}


@pytest.mark.parametrize(
    ("seconds", "times"), [(1_000.0, ["5:00", "10:00", "1:40", "16:40"]), (None, ["–", "–", "–", "–"])]
)
def test_cost_table_lists_each_phase_and_the_total(seconds: float | None, times: list[str]) -> None:
    console = Console(file=StringIO(), width=100)

    show_estimates({"quick": CostEstimate(PHASES, seconds)}, console)

    lines = [line.split() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]
    costs = [["filter", "1,200", "30,000"], ["search", "4,000", "60,000"], ["evaluate", "800", "10,000"]]
    costs.append(["total", "6,000", "100,000"])
    assert [line for line in lines if len(line) == 4 and line[0] != "phase"] == [
        [*cost, time] for cost, time in zip(costs, times, strict=True)
    ]


def test_estimates_of_presets_are_side_by_side() -> None:
    console = Console(file=StringIO(), width=80)
    splits = Splits(
        candidates=128,
        score_set=32,
        validation=100,
        confirmation=96,
        test=1240,
        unused=0,
        duplicates_dropped=0,
        conflicting_texts=0,
        leaked_from_test=0,
    )
    quick = CostEstimate(PHASES, 1_000.0, words_accuracy=0.7, splits=splits, fit_rows=440)
    larger = {phase: Cost(10 * cost.pairs, 10 * cost.tokens) for phase, cost in PHASES.items()}
    standard = CostEstimate(larger, 10_000.0, splits=splits.model_copy(update={"candidates": 228}), fit_rows=416)

    show_estimates({"quick": quick, "standard": standard}, console)

    shown = console.file.getvalue()  # type: ignore[attr-defined]
    lines = [line.split() for line in shown.splitlines()]
    for line in (
        ["phase", "quick:", "pairs", "time", "standard:", "pairs", "time"],
        ["filter", "1,200", "5:00", "12,000", "50:00"],
        ["total", "6,000", "16:40", "60,000", "2:46:40"],
        ["split", "quick", "standard"],
        ["test", "1,240", "1,240"],
        ["validation", "100", "100"],
        ["confirmation", "96", "96"],
        ["score", "set", "32", "32"],
        ["candidates", "128", "228"],
        ["fit", "rows", "440", "416"],
    ):
        assert line in lines
    assert "A bag of words on the labelled rows of this run has an accuracy of 0.700" in shown


def test_budget_below_the_estimate_is_said() -> None:
    console = Console(file=StringIO(), width=100)
    tight = BudgetOptions(max_pairs=5_000, max_seconds=60.0)
    show_estimates({"quick": CostEstimate(PHASES, 1_000.0, budget=tight)}, console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "The budget ends quick at 5,000 pairs (budget.max_pairs)" in shown
    assert "The budget ends quick after 1:00 (budget.max_seconds)" in shown


def test_budget_above_the_estimate_is_not_said() -> None:
    console = Console(file=StringIO(), width=100)
    ample = BudgetOptions(max_pairs=6_000, max_seconds=1_000.0)
    show_estimates({"quick": CostEstimate(PHASES, 1_000.0, budget=ample)}, console)
    assert "budget" not in console.file.getvalue()  # type: ignore[attr-defined]
