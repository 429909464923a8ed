"""The table of an estimate."""

from io import StringIO

import pytest
from rich.console import Console

from lens_cli.views.result import show_estimate
from lens_engine.config import BudgetOptions
from lens_engine.metering.cost import Cost
from lens_engine.metering.estimate import CostEstimate
from lens_engine.result import Splits
from lens_engine.types import Phase

PHASES = {Phase.FILTER: Cost(1_200, 30_000), Phase.SEARCH: Cost(4_000, 60_000), Phase.EVALUATE: Cost(800, 10_000)}


@pytest.mark.parametrize(
    ("seconds", "times"), [(1_000.0, ["5:00", "10:00", "1:40", "16:40"]), (None, ["–", "–", "–", "–"])]
)
def test_cost_table_lists_each_phase_and_the_total(seconds: float | None, times: list[str]) -> None:
    console = Console(file=StringIO(), width=100)

    show_estimate(CostEstimate(PHASES, seconds), console)

    lines = [line.split() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]
    costs = [["filter", "1,200", "30,000"], ["search", "4,000", "60,000"], ["evaluate", "800", "10,000"]]
    costs.append(["total", "6,000", "100,000"])
    assert [line for line in lines if len(line) == 4 and line[0] != "phase"] == [
        [*cost, time] for cost, time in zip(costs, times, strict=True)
    ]


def test_rows_of_each_split_and_a_bag_of_words_are_shown() -> None:
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
    estimate = CostEstimate(PHASES, 1_000.0, words_accuracy=0.7, splits=splits, fit_rows=440)

    show_estimate(estimate, console)

    shown = console.file.getvalue()  # type: ignore[attr-defined]
    lines = [line.split() for line in shown.splitlines()]
    for line in (
        ["test", "1,240"],
        ["validation", "100"],
        ["confirmation", "96"],
        ["score", "set", "32"],
        ["candidates", "128"],
        ["fit", "rows", "440"],
    ):
        assert line in lines
    assert "without any language model, is right for 70 % of the labelled rows" in " ".join(shown.split())


def test_budget_below_the_estimate_is_said() -> None:
    console = Console(file=StringIO(), width=100)
    tight = BudgetOptions(max_pairs=5_000, max_seconds=60.0)
    show_estimate(CostEstimate(PHASES, 1_000.0, budget=tight), console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "The budget ends the run at 5,000 pairs (budget.max_pairs)" in shown
    assert "The budget ends the run after 1:00 (budget.max_seconds)" in shown
