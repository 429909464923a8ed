"""The cost table of `lens experiment table --estimate`."""

from collections.abc import Sequence

from rich.table import Table

from experiments.table.costs import Line
from lens_cli.views.cost import cost_table
from lens_engine.metering.cost import Cost

_SECONDS_PER_HOUR = 3600.0


def build_cost_table(lines: Sequence[Line], tokens_per_second: float | None) -> Table:
    """One line per row of the main table, and the total. Hours appear if `tokens_per_second` is given."""
    total = Line("total", sum(line.cells for line in lines), sum((line.cost for line in lines), Cost()))
    return cost_table(
        "Expected cost of the table",
        "upper bound: every permutation on every row, nothing cached; text lengths are approximate",
        ("row", "cells", "pairs", "tokens", "hours"),
        {line.name: _cells(line, tokens_per_second) for line in lines},
        total=_cells(total, tokens_per_second),
    )


def _cells(line: Line, tokens_per_second: float | None) -> tuple[str, str, str, str]:
    hours = "–" if tokens_per_second is None else f"{line.cost.tokens / tokens_per_second / _SECONDS_PER_HOUR:,.2f}"
    return f"{line.cells:,}", f"{line.cost.pairs:,}", f"{line.cost.tokens:,}", hours
