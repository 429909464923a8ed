"""`lens select`: one selection on this machine, without the service."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from lens_cli.asked_model import ServerOptions
from lens_cli.file_options import RowFileOptions, TestFile, takes_groups
from lens_cli.refusals import EXIT_INTERRUPTED, refusing, show_note
from lens_cli.select.options import SearchOptions, SelectionFiles, SelectionModelOptions, TaskOptions
from lens_engine.errors import Faults
from lens_engine.types import StopReason

if TYPE_CHECKING:  # the command imports these when it runs
    from lens_cli.asked_model import ChosenModel
    from lens_cli.select.run import SelectionRun
    from lens_cli.select.sources import Sources
    from lens_engine.config import SelectionConfig
    from lens_engine.prompt.request import TaskRequest


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
    from lens_cli.select.run import SelectionRun
    from lens_cli.select.sources import Sources
    from lens_cli.select.words import advise

    with refusing(lambda error: advise(error, train)):
        files.check()
        sources = Sources(train, test, rows.columns, rows.label_column)
        read = _read_options(sources, rows, task, search, served)
        local = {"dtype": model.dtype, "device": model.device, "actors": model.actors}
        chosen = served.choose(model.model, **local, ray_address=model.ray_address)
        run = SelectionRun.prepare(*read)
        _carry_out(run, chosen, model, files, is_estimate=search.estimate, is_verbose=verbose)


def _read_options(
    sources: "Sources", rows: RowFileOptions, task: TaskOptions, search: SearchOptions, served: ServerOptions
) -> "tuple[Sources, TaskRequest, SelectionConfig]":
    """What the options say, with the faults of all of them in one error."""
    faults = Faults()
    with faults.noting():
        sources = replace(sources, dialect=rows.dialect)
    with faults.noting():
        asked = task.read(sources.list_labels)
    with faults.noting():
        config = search.read(max_cost=served.max_cost)
    faults.refuse()
    return sources, asked, config


def _carry_out(
    run: "SelectionRun",
    chosen: "ChosenModel",
    model: SelectionModelOptions,
    files: SelectionFiles,
    *,
    is_estimate: bool,
    is_verbose: bool,
) -> None:
    """Say what is surprising, open the model, and select; or price that."""
    from lens_cli.select.files import show_files, write_files
    from lens_cli.select.run import opened_model
    from lens_cli.select.words import note_language
    from lens_cli.signals import interruptible
    from lens_cli.views.progress import selection_bar
    from lens_cli.views.result import show_estimate, show_result, show_summary, show_suspicious_labels
    from lens_engine.run.preparation import estimate_cost

    console, out = Console(stderr=True), Console(highlight=False)
    foreign = note_language(run.problem.examples, chosen.reference)
    for note in (*run.notes, *foreign):
        show_note(note, console)
    if files.output is None and files.classifier is None and not is_estimate:
        show_note("no file will be written; add --classifier classifier.json to keep the classifier", console)
    remembers = model.pair_cache and not (is_estimate and chosen.endpoint is None)  # a paid sample is kept
    with opened_model(chosen, model, console, checkpoint=files.checkpoint, remembers=remembers) as opened:
        if is_estimate:
            with selection_bar(console, transient=True) as bar, interruptible():
                bar.wait("Measuring the speed of the model")
                cost = estimate_cost(run.problem, opened.scorer, run.config)
            show_estimate(cost, out)
            return
        result = run.execute(opened, files.checkpoint, console, remembers=model.pair_cache)
    written = write_files(files, result, run, console)
    show = show_result if is_verbose else show_summary
    show(result, out, shown=(*run.warnings, *foreign))
    if is_verbose:
        show_suspicious_labels(result, run.problem.examples, out)
    show_files(result, written, out, [] if chosen.endpoint is None else chosen.list_arguments(with_limit=False))
    if result.stop_reason is StopReason.CANCELLED:
        raise typer.Exit(EXIT_INTERRUPTED)
