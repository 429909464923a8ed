"""`lens classify`: the labels of texts, by a classifier or a prompt that `lens select` found."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from lens_cli.asked_model import SameModelOptions, ServerOptions
from lens_cli.asked_service import ServiceOptions
from lens_cli.file_options import TextFileOptions, takes_groups
from lens_cli.refusals import RefusedInput, show_note
from lens_cli.subject_file import SubjectOptions


@dataclass(frozen=True, slots=True)
class PredictionOptions:
    """The classifier, and the file that it writes."""

    output: Annotated[Path, typer.Option(help="File for the predictions; its name ends in .csv or .jsonl.")]
    classifier: Annotated[
        Path | None,
        typer.Option(
            help="Classifier: a file that lens select --classifier wrote; or a result, of --output. Or give --service.",
            show_default=False,
        ),
    ] = None
    answer_above: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            min=0.0,
            max=1.0,
            help="Least probability of a label that is given. A row below it has an empty label and false in the "
            "column `answered`, so that a person can take it. Default: every label is given.",
            show_default=False,
        ),
    ] = None
    overwrite: Annotated[
        bool, typer.Option("--overwrite", metavar="", help="Replace OUTPUT if it exists; otherwise it is refused.")
    ] = False


@takes_groups
def classify(
    texts: Annotated[
        Path, typer.Argument(metavar="INPUT", help="Texts: a file of any usual shape; the content decides it.")
    ],
    written: PredictionOptions,
    of_result: SubjectOptions,
    rows: TextFileOptions,
    model: SameModelOptions,
    served: ServerOptions,
    service: ServiceOptions,
) -> None:
    """Classify the texts of a file with a classifier that `lens select --classifier` wrote, or with a prompt.

    `--prompts support_examples` asks the prompt of a result. Where it finds demonstrations for each input, it finds
    them in the result; with `--fixed`, the best prompt of fixed demonstrations is asked. The files of the model must be
    those with which the classifier was made.

    OUTPUT has one row for each row of INPUT, in order: the columns of INPUT, `label`, `probability` (of that label),
    `p_LABEL` for each label (JSONL: an object `probabilities`), with --answer-above `answered`, and `error`. A
    column of INPUT that has the name of a prediction is called `input_NAME`. A row that cannot be classified has an
    empty label and its `error`; the command then ends with exit code 2. Messages count rows from 1, without the header.

    Ctrl-C stops the run. The batches of 256 rows that are done are in OUTPUT.partial.jsonl. The same command resumes
    from this file and removes it at the end.

    Examples:

        lens classify new.csv --classifier classifier.json --output predictions.csv

        lens classify new.csv --classifier result.json --prompts support_examples --output predictions.csv

        lens classify new.csv --classifier classifier.json --answer-above 0.9 --output predictions.csv

        lens classify new.csv --service http://127.0.0.1:8000/prompts/triage --output predictions.csv
    """
    if (written.classifier is None) == (service.service is None):
        raise RefusedInput("give either a file of a classifier or a service", "where: --classifier, --service")
    from lens_cli.classify.run import ClassificationRun, Paths, tell_outcome
    from lens_engine.evaluation.batches import Prediction

    console, paths = Console(stderr=True), Paths(texts, written.classifier or texts, written.output)
    paths.check(overwrite=written.overwrite)
    if written.classifier is not None:
        file = of_result.of(written.classifier, usual="classifier", where="--classifier")
        run = ClassificationRun.prepare(paths, file, rows.columns, rows.dialect, model.dtype, written.answer_above)
        with model.opening(served, run.classifier.model) as (chosen, open_scorer):
            named = None if chosen is None else chosen.reference
            run.execute(partial(open_scorer, run.dtype), console, model=named)
        return
    found = service.classify(texts, written.output, of_result, rows, written.answer_above, console)
    for note in found.notes:
        show_note(note, console)
    predictions = [
        Prediction(
            label=one.get("label"),
            probabilities=tuple(one.get("probabilities") or ()),
            error=one["error"],
            is_cut=one.get("cut", False),
        )
        for one in found.answers
    ]
    tell_outcome(predictions, written.output, written.answer_above, console)
