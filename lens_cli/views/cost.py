"""The expected cost of a run as a table."""

from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from lens_cli.views.progress import describe_seconds
from lens_engine.metering.cost import Cost
from lens_engine.pricing.estimate import CostEstimate

_NOTHING = "–"


def show_estimate(estimate: CostEstimate, console: Console) -> None:
    console.print(build_cost_table(estimate))
    if estimate.words_accuracy is not None:
        console.print(
            f"A bag of words on the same labelled rows has an accuracy of {estimate.words_accuracy:.3f} by "
            "cross-validation and takes a second. If that is enough, use it."
        )


def build_cost_table(estimate: CostEstimate) -> Table:
    """One line per phase, and the total below."""
    return cost_table(
        "Expected cost of the run",
        "speed measured on a small sample; repeated permutations are scored once",
        ("phase", "pairs", "tokens", "time"),
        {phase.value: _cells(cost, estimate.seconds_of(phase)) for phase, cost in estimate.phases.items()},
        total=_cells(estimate.total, estimate.seconds),
    )


def cost_table(
    title: str, caption: str, columns: Sequence[str], lines: Mapping[str, Sequence[str]], *, total: Sequence[str]
) -> Table:
    """A table of costs: a name in the first column, figures in the others, and the total below."""
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        caption=caption,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        show_footer=True,
    )
    table.add_column(columns[0], footer="total")
    for name, footer in zip(columns[1:], total, strict=True):
        table.add_column(name, footer=footer, justify="right")
    for name, cells in lines.items():
        table.add_row(name, *cells)
    return table


def _cells(cost: Cost, seconds: float | None) -> tuple[str, str, str]:
    return f"{cost.pairs:,}", f"{cost.tokens:,}", _NOTHING if seconds is None else describe_seconds(seconds)
