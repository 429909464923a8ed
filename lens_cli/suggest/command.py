"""`lens suggest`: what a selection of a file could look like, and the command for it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from lens_cli.asked_model import ModelOptions, ServerOptions, describe_opening
from lens_cli.file_options import RowFileOptions, TestFile, takes_groups


@takes_groups
def suggest(
    file: Annotated[Path, typer.Argument(help="Labelled examples: a file of any usual shape, or a folder.")],
    rows: RowFileOptions,
    model: ModelOptions,
    served: ServerOptions,
    test: TestFile = None,
    no_model: Annotated[
        bool, typer.Option("--no-model", metavar="", help="Leave out the cost of each preset; no model is loaded.")
    ] = False,
) -> None:
    """Look at a file, and suggest columns, label words, templates, instructions and presets, with the command to copy.

    The `lens select` command at the end reads this file. The pace of the model is measured on a small sample of the
    rows. Labels of test rows are not looked at to choose anything.

    Example:

        lens suggest train.csv
    """
    from lens_cli.select.sources import Sources
    from lens_cli.suggest.view import show_suggestion
    from lens_cli.views.progress import selection_bar
    from lens_engine.run.suggest import price_suggestion
    from lens_engine.run.suggest import suggest as look_at

    with selection_bar(Console(stderr=True)) as bar:
        chosen = served.choose(model.model, dtype=model.dtype, device=model.device)
        bar.wait("Reading the file")
        suggestion = look_at(
            file,
            test=test,
            text_column=rows.columns,
            label_column=rows.label_column,
            delimiter=rows.delimiter,
            encoding=rows.encoding,
        )
        if not no_model:
            bar.wait(describe_opening(chosen.reference))
            with chosen.opened(dtype=model.dtype, device=model.device, remembers=False) as opened:
                bar.wait("Measuring its pace")
                suggestion = price_suggestion(suggestion, opened.scorer)
    show_suggestion(suggestion, Sources(file, test, dialect=rows.dialect), Console(highlight=False), chosen)
