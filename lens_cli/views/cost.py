"""The expected cost of a run as tables."""

from rich.console import Console

from lens_cli.views.table import draw_table
from lens_engine.metering.estimate import CostEstimate
from lens_engine.metering.tables import describe_estimate, list_cost_tables


def show_estimate(estimate: CostEstimate, console: Console) -> None:
    """Print the cost of a run, the rows of its splits, its limits, and what a bag of words reaches."""
    for table in list_cost_tables(estimate):
        console.print(draw_table(table))
    for sentence in describe_estimate(estimate):
        console.print(sentence)
