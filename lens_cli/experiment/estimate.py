"""`lens experiment table --estimate`: the cost of the cells, for a person to read."""

from collections.abc import Sequence

from rich import box
from rich.table import Table

from experiments.table.costs import Line
from lens_engine.metering.cost import Cost

_SECONDS_PER_HOUR = 3600.0


def build_cost_table(lines: Sequence[Line], tokens_per_second: float | None) -> Table:
    """A line for each row of the table, and the total below them; hours if the pace is known."""
    total = Line("total", sum(line.cells for line in lines), sum((line.cost for line in lines), Cost()))
    table = Table(
        title="What the table would cost",
        title_justify="left",
        title_style="bold",
        caption="upper bound: every permutation on every row, no cell in the store yet; rough lengths of texts",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        show_footer=True,
    )
    table.add_column("row", footer=total.name)
    for name, footer in zip(("cells", "pairs", "tokens", "hours"), _cells(total, tokens_per_second), strict=True):
        table.add_column(name, footer=footer, justify="right")
    for line in lines:
        table.add_row(line.name, *_cells(line, tokens_per_second))
    return table


def _cells(line: Line, tokens_per_second: float | None) -> tuple[str, str, str, str]:
    hours = "–" if tokens_per_second is None else f"{line.cost.tokens / tokens_per_second / _SECONDS_PER_HOUR:,.2f}"
    return f"{line.cells:,}", f"{line.cost.pairs:,}", f"{line.cost.tokens:,}", hours
