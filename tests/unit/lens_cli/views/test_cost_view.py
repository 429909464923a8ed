"""The table of an estimate."""

from io import StringIO

import pytest
from rich.console import Console

from lens_cli.views.cost import show_estimate
from lens_engine.metering.cost import Cost
from lens_engine.pricing.estimate import CostEstimate
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
