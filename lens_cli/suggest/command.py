"""`lens suggest`: what a selection of a file could look like, and the command for it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from lens_cli.endpoint_options import EndpointOptions, describe_opening, takes_endpoint
from lens_cli.file_options import Delimiter, Encoding, join_columns
from lens_cli.model_options import Device, Dtype
from lens_cli.refusals import EXIT_INTERRUPTED, refusing
from lens_engine.local.model_files import BUNDLED_MODEL


@takes_endpoint
def suggest(
    file: Annotated[Path, typer.Argument(help="Labelled examples: a file of any usual shape, or a folder.")],
    test: Annotated[
        Path | None, typer.Option(help="Test rows with the same columns; default: 25 % of FILE is held out.")
    ] = None,
    text_column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Column of the texts; repeat it to join the texts of several; default: found by its name, or the "
            "longest values.",
        ),
    ] = None,
    label_column: Annotated[
        str | None, typer.Option(help="Column of the labels; default: found by its name, or few distinct values.")
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    model: Annotated[
        str,
        typer.Option(
            help="Model whose pace is measured: a bundled name, a folder, a .gguf file, or a hub id; with --endpoint "
            "its name at the server."
        ),
    ] = BUNDLED_MODEL,
    dtype: Dtype = "auto",
    device: Device = "auto",
    no_model: Annotated[
        bool, typer.Option("--no-model", metavar="", help="Leave out the cost of each preset; no model is loaded.")
    ] = False,
    *,
    served: EndpointOptions,
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
    from lens_engine.reading import Dialect
    from lens_engine.suggestion.suggest import price_suggestion
    from lens_engine.suggestion.suggest import suggest as look_at

    try:
        with refusing(), selection_bar(Console(stderr=True)) as bar:
            chosen = served.choose(model, dtype=dtype, device=device)
            bar.wait("Reading the file")
            suggestion = look_at(
                file,
                test=test,
                text_column=join_columns(text_column),
                label_column=label_column,
                delimiter=delimiter,
                encoding=encoding,
            )
            if not no_model:
                bar.wait(describe_opening(chosen.reference))
                with chosen.opened(dtype=dtype, device=device, remembers=False) as opened:
                    bar.wait("Measuring its pace")
                    suggestion = price_suggestion(suggestion, opened.scorer)
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_INTERRUPTED) from None
    sources = Sources(file, test, dialect=Dialect(encoding, delimiter))
    show_suggestion(suggestion, sources, Console(highlight=False), chosen)
