"""`lens select`: one selection on this machine, without the service."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from lens_cli.asked_model import ServerOptions
from lens_cli.file_options import RowFileOptions, TestFile, takes_groups
from lens_cli.refusals import refusing
from lens_cli.select.options import SearchOptions, SelectionFiles, SelectionModelOptions, TaskOptions
from lens_engine.errors import Faults


@takes_groups
def select(
    train: Annotated[
        Path,
        typer.Argument(
            help="Labelled examples: a file of any usual shape with columns of texts and labels, or a folder. 20 rows "
            "give a rough result, 100 a good one; lens suggest says what a file offers."
        ),
    ],
    task: TaskOptions,
    search: SearchOptions,
    files: SelectionFiles,
    rows: RowFileOptions,
    model: SelectionModelOptions,
    served: ServerOptions,
    test: TestFile = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Print every table, note and example, and the rows labelled wrongly.")
    ] = False,
) -> None:
    """Find support examples and make a classifier on this machine, without the service.

    Lens judges prompts and classifiers on the labelled rows, and says what to expect of the best on new texts.

    Ctrl-C stops the run within seconds and keeps the best support examples so far. A second Ctrl-C ends it
    without a result.

    Example:

        lens select train.csv --template '{text} It was {label}.' \\
          --verbalizer positive=great --verbalizer negative=terrible \\
          --preset quick --output result.json --classifier classifier.json
    """
    from lens_cli.select.run import SelectionRun, carry_out
    from lens_cli.select.sources import Sources
    from lens_cli.select.words import advise

    with refusing(advise):
        files.check(train, test)
        faults, sources = Faults(), Sources(train, test, rows.columns, rows.label_column)
        with faults.noting():
            sources = replace(sources, dialect=rows.dialect)
        with faults.noting():
            asked = task.read(sources.list_labels)
        with faults.noting():
            config = search.read(max_cost=served.max_cost)
        faults.refuse()
        local = {"dtype": model.dtype, "device": model.device, "actors": model.actors}
        chosen = served.choose(model.model, **local, ray_address=model.ray_address)
        run = SelectionRun.prepare(sources, asked, config)
        carry_out(run, chosen, model, files, is_verbose=verbose)
