"""`lens evaluate`: how often support examples or a classifier are right on labelled rows, asked as production asks."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from lens_cli.asked_model import SameModelOptions, ServerOptions
from lens_cli.asked_service import ServiceOptions
from lens_cli.file_options import RowFileOptions, takes_groups
from lens_cli.refusals import RefusedInput, check_output
from lens_cli.subject_file import SubjectOptions


@takes_groups
def evaluate(
    what: Annotated[
        Path,
        typer.Argument(
            metavar="WHAT",
            help="Result: a file that lens select --output wrote; or a classifier, of --classifier. With --service, "
            "the labelled rows.",
        ),
    ],
    dataset: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATASET", help="Labelled rows: a file of any usual shape with columns of texts and labels."
        ),
    ] = None,
    *,
    of_result: SubjectOptions,
    rows: RowFileOptions,
    model: SameModelOptions,
    served: ServerOptions,
    service: ServiceOptions,
    keep: Annotated[
        bool, typer.Option("--keep", metavar="", help="With --service: keep the figures with the version of the name.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option(help="File for the figures as JSON; it is replaced if it exists.")
    ] = None,
) -> None:
    """Judge the support examples of a result, or a classifier, on labelled rows.

    A prompt that finds demonstrations for each input finds them for these rows too. The model can be another.

    Example:

        lens evaluate result.json new.csv

        lens evaluate october.csv --service http://127.0.0.1:8000/prompts/triage --keep
    """
    from lens_cli.evaluate.run import EvaluationRun
    from lens_cli.select.sources import Sources
    from lens_cli.views.result import show_evaluation
    from lens_engine.disk import replace_file
    from lens_engine.result.parts import EvaluationResult

    check_output(output, sources=(what, dataset))
    if (dataset is None) != (service.service is not None):
        raise RefusedInput("give WHAT and DATASET, or one file and --service", "where: DATASET, --service")
    if dataset is None:
        found = service.evaluate(what, of_result, rows, Console(stderr=True), keep=keep)
        result, name = EvaluationResult.model_validate(found.result), f"Version {found.version}"
    else:
        subject = of_result.of(what).read()
        own, name = subject.classifier, subject.name
        sources = Sources(dataset, None, rows.columns, rows.label_column, rows.dialect, own.input)
        run = EvaluationRun.prepare(subject, sources)
        with model.opening(served, own.model) as (chosen, open_scorer):
            asked = chosen.reference if chosen is not None and chosen.endpoint is not None else model.model
            result = run.execute(lambda _, dtype: open_scorer(dtype), Console(stderr=True), asked, model.dtype)
    if output is not None:
        replace_file(output, (result.model_dump_json(indent=2) + "\n").encode())
    show_evaluation(result, name, output, Console(highlight=False))
