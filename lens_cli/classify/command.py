"""`lens classify`: the labels of texts, by a classifier or a prompt that `lens select` found."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from lens_cli.endpoint_options import EndpointOptions, takes_endpoint
from lens_cli.file_options import Delimiter, Encoding, join_columns
from lens_cli.model_options import Device
from lens_cli.refusals import EXIT_INTERRUPTED, refusing
from lens_cli.subject_file import FixedForm, SubjectFile, UseOfPrompt, WhatIsAsked


@takes_endpoint
def classify(
    texts: Annotated[
        Path,
        typer.Argument(metavar="INPUT", help="Texts: a file of any usual shape; the content decides it."),
    ],
    classifier: Annotated[
        Path,
        typer.Option(help="Classifier: a file that lens select --classifier wrote; or a result, of --output."),
    ],
    output: Annotated[Path, typer.Option(help="File for the predictions; its name ends in .csv, .jsonl or .parquet.")],
    prompts: Annotated[
        WhatIsAsked | None,
        typer.Option(
            metavar="NAME",
            help="What of a result classifies: classifier or support_examples; default: classifier.",
            show_default=False,
        ),
    ] = None,
    use: UseOfPrompt = None,
    fixed: FixedForm = False,
    text_column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Name of the column of texts; repeat it to join the texts of several; default: that of the "
            "classifier's file.",
        ),
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Model: a bundled name, a folder, a .gguf file, or a Hugging Face hub id; with --endpoint its name at "
            "the server; default: the name that the classifier holds. Its files must be those with which the "
            "classifier was made.",
            show_default=False,
        ),
    ] = None,
    dtype: Annotated[
        str | None,
        typer.Option(
            help="Precision: float32, bfloat16, float16 or auto; default: that of the classifier.", show_default=False
        ),
    ] = None,
    device: Device = "auto",
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
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", metavar="", help="Replace OUTPUT if it exists; otherwise it is refused.")
    ] = False,
    restart: Annotated[
        bool,
        typer.Option("--restart", metavar="", help="Discard OUTPUT.partial.jsonl and start again from the first row."),
    ] = False,
    *,
    served: EndpointOptions,
) -> None:
    """Classify the texts of a file with a classifier that `lens select --classifier` wrote, or with a prompt.

    `--prompts support_examples` asks the prompt of a result. Where it finds demonstrations for each input, it finds
    them in the result; with `--fixed`, the best prompt of fixed demonstrations is asked.

    OUTPUT has one row for each row of INPUT, in order: `row` (counted from 0), the columns of INPUT, `label`,
    `probability` (of that label), `p_LABEL` for each label (JSONL: an object `probabilities`), with --answer-above
    `answered`, and `error`. A column of INPUT that has the name of a prediction is called `input_NAME`. A row that
    cannot be classified has an empty label and its `error`; the command then ends with exit code 2.

    Ctrl-C stops the run. The batches of 256 rows that are done are in OUTPUT.partial.jsonl. The same command resumes
    from this file and removes it at the end.

    Examples:

        lens classify new.csv --classifier classifier.json --output predictions.csv

        lens classify new.csv --classifier result.json --prompts support_examples --output predictions.csv

        lens classify new.csv --classifier classifier.json --answer-above 0.9 --output predictions.csv
    """
    from lens_cli.classify.run import ClassificationRun, Paths
    from lens_engine.reading import Dialect
    from lens_engine.scoring.base import LabelScorer

    try:
        with refusing(), ExitStack() as exits:
            paths = Paths(texts, classifier, output)
            paths.check(overwrite=overwrite)
            asked = SubjectFile(classifier, prompts, use, is_fixed=fixed, usual="classifier", where="--classifier")
            run = ClassificationRun.prepare(
                paths,
                asked,
                text_column=join_columns(text_column),
                dialect=Dialect(encoding, delimiter),
                dtype=dtype,
                answer_above=answer_above,
            )
            chosen = served.choose_again(model, run.classifier.model, dtype=dtype, device=device)

            def open_scorer(_: str) -> LabelScorer:
                assert chosen is not None
                # No pair cache: the texts of production would displace the scores of selections.
                opening = chosen.opened(dtype=run.origin.dtype, device=device, remembers=False)
                return exits.enter_context(opening).scorer

            named = None if chosen is None else chosen.reference
            run.execute(open_scorer, Console(stderr=True), model=named, restart=restart)
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_INTERRUPTED) from None
