"""The expected cost of a run as a table."""

from rich import box
from rich.console import Console
from rich.table import Table

from lens_cli.views.progress import describe_seconds
from lens_engine.metering.cost import Cost
from lens_engine.pricing.estimate import CostEstimate

_NOTHING = "–"


def show_estimate(estimate: CostEstimate, console: Console) -> None:
    console.print(build_cost_table(estimate))


def build_cost_table(estimate: CostEstimate) -> Table:
    """One line per phase, and the total below."""
    table = Table(
        title="Expected cost of the run",
        title_justify="left",
        title_style="bold",
        caption="speed measured on a small sample; repeated permutations are scored once",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        show_footer=True,
    )
    total = _cells(estimate.total, estimate.seconds)
    table.add_column("phase", footer="total")
    for name, footer in zip(("pairs", "tokens", "time"), total, strict=True):
        table.add_column(name, footer=footer, justify="right")
    for phase, cost in estimate.phases.items():
        table.add_row(phase.value, *_cells(cost, estimate.seconds_of(phase)))
    return table


def _cells(cost: Cost, seconds: float | None) -> tuple[str, str, str]:
    return f"{cost.pairs:,}", f"{cost.tokens:,}", _NOTHING if seconds is None else describe_seconds(seconds)
