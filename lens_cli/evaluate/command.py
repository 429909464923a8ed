"""`lens evaluate`: how often support examples or a classifier are right on labelled rows, asked as production asks."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from lens_cli.asked_model import SameModelOptions, ServerOptions
from lens_cli.asked_service import ServiceOptions
from lens_cli.file_options import RowFileOptions
from lens_cli.groups import takes_groups
from lens_cli.refusals import EXIT_INTERRUPTED, RefusedInput, check_output, refusing
from lens_cli.subject_file import SubjectFile, SubjectOptions

if TYPE_CHECKING:  # the command imports these when it runs
    from lens_cli.select.sources import Sources
    from lens_cli.subject_file import FoundSubject
    from lens_engine.result.evaluation import EvaluationResult
    from lens_engine.scoring.base import LabelScorer


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
    Of the rows of the selection itself, its test rows alone are judged, and the answers are compared with those of the
    selection.

    Example:

        lens evaluate result.json new.csv

        lens evaluate october.csv --service http://127.0.0.1:8000/prompts/triage --keep
    """
    from lens_cli.views.result import show_evaluation
    from lens_engine.disk.replace_file import replace_file
    from lens_engine.result.evaluation import EvaluationResult

    try:
        with refusing():
            check_output(output)
            if (dataset is None) != (service.service is not None):
                raise RefusedInput("give WHAT and DATASET, or one file and --service", "where: DATASET, --service")
            if dataset is None:
                found = service.evaluate(what, of_result, rows, Console(stderr=True), keep=keep)
                result, name = EvaluationResult.model_validate(found.result), f"Version {found.version}"
            else:
                result, name = _judge_file(what, dataset, of_result, rows, model, served)
            if output is not None:
                replace_file(output, (result.model_dump_json(indent=2) + "\n").encode())
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_INTERRUPTED) from None
    show_evaluation(result, name, output, Console(highlight=False))


def _judge_file(
    what: Path,
    dataset: Path,
    of_result: SubjectOptions,
    rows: RowFileOptions,
    model: SameModelOptions,
    served: ServerOptions,
) -> "tuple[EvaluationResult, str]":
    """What the file holds, judged on this machine, and its name."""
    from lens_cli.select.sources import Sources

    found = SubjectFile(what, of_result.prompts, of_result.use, is_fixed=of_result.fixed).read()
    sources = Sources(dataset, None, rows.columns, rows.label_column, rows.dialect, found.classifier.input)
    return _judge(found, sources, model, served), found.name


def _judge(
    found: "FoundSubject", sources: "Sources", model: SameModelOptions, served: ServerOptions
) -> "EvaluationResult":
    from lens_cli.evaluate.run import EvaluationOptions, EvaluationRun

    chosen = served.choose_again(model.model, found.classifier.model, dtype=model.dtype, device=model.device)
    asked = chosen.reference if chosen is not None and chosen.endpoint is not None else model.model
    options = EvaluationOptions(asked, model.dtype)
    run = EvaluationRun.prepare(found, sources, options)
    with ExitStack() as exits:

        def open_scorer(_: str, precision: str) -> "LabelScorer":
            assert chosen is not None
            # No pair cache: the texts of production would displace the scores of selections.
            opening = chosen.opened(dtype=precision, device=model.device, remembers=False)
            return exits.enter_context(opening).scorer

        return run.execute(open_scorer, Console(stderr=True))
