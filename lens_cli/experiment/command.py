"""`lens experiment`: the paper's tables and figures, one command each."""

from collections.abc import Callable
from typing import Annotated

import typer
from rich.console import Console

from lens_cli.experiment.analyses import classifier, filtering, hyperparameters, labels, order, pairs, transfer
from lens_cli.experiment.options import Given, read_variants, split_words, taking_given

STUDIES: dict[str, Callable[..., None]] = {
    command.__name__: command for command in (classifier, order, transfer, labels, hyperparameters, filtering, pairs)
}
"""Commands of the analyses by name."""


def create_experiments() -> typer.Typer:
    """Build the Typer group `lens experiment`."""
    group = typer.Typer(
        help="Repeat the paper's tables and figures. Every finished cell is stored. A stopped or killed command "
        "resumes from the stored cells.",
        no_args_is_help=True,
        rich_markup_mode="markdown",
    )
    group.command("table")(taking_given(table))
    for name, command in STUDIES.items():
        group.command(name)(taking_given(command))
    return group


def table(
    given: Given,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES", help="Methods to show as rows, e.g. zero_shot,random,herding,lens; default: all."
        ),
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:OPTION=VALUE,…",
            help="Extra row: LENS with other options, e.g. 'wide beam:search.beam_width=16'; repeatable.",
        ),
    ] = None,
    estimate: Annotated[bool, typer.Option("--estimate", metavar="", help="Show the expected cost and exit.")] = False,
    pace: Annotated[
        float | None, typer.Option(min=1.0, help="Speed for --estimate (tokens per second); adds a column of hours.")
    ] = None,
) -> None:
    """The main table: methods × datasets × templates × seeds, with and without calibration.

    Writes table.md, table.csv and table.svg. With --estimate, the command runs no model and needs no dataset.

    Examples:

        lens experiment table --preset laptop --data FOLDER

        lens experiment table --preset paper --estimate --pace 40000
    """
    from experiments.table.costs import placeholder_dataset, price_cells
    from experiments.table.entries import pick_entries
    from experiments.table.plan import TablePlan
    from lens_cli.experiment.estimate import build_cost_table
    from lens_cli.experiment.session import running

    with running(given) as session:
        is_counted_without_rows = estimate and given.data is None
        find_dataset = placeholder_dataset if is_counted_without_rows else session.datasets.find
        entries = pick_entries(session.scale, split_words(methods or []), read_variants(variant or []))
        plan = TablePlan(session.scale, entries, find_dataset)
        cells = plan.cells()
        if estimate:
            Console(highlight=False).print(build_cost_table(price_cells(cells, find_dataset), pace))
            return
        session.observer.total = len(cells)
        session.publish(plan.run(session.laboratory))
