"""`lens evaluate`: how often support examples or a classifier are right on labelled rows, asked as production asks."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from lens_cli.endpoint_options import EndpointOptions, takes_endpoint
from lens_cli.file_options import Delimiter, Encoding, join_columns
from lens_cli.model_options import Device
from lens_cli.refusals import EXIT_INTERRUPTED, check_output, refusing
from lens_cli.subject_file import FixedForm, SubjectFile, UseOfPrompt, WhatIsAsked


@takes_endpoint
def evaluate(
    what: Annotated[
        Path,
        typer.Argument(
            metavar="WHAT", help="Result: a file that lens select --output wrote; or a classifier, of --classifier."
        ),
    ],
    dataset: Annotated[
        Path,
        typer.Argument(
            metavar="DATASET", help="Labelled rows: a file of any usual shape with columns of texts and labels."
        ),
    ],
    prompts: Annotated[
        WhatIsAsked | None,
        typer.Option(
            metavar="NAME",
            help="What of a result is judged: support_examples or classifier; default: support_examples.",
            show_default=False,
        ),
    ] = None,
    use: UseOfPrompt = None,
    fixed: FixedForm = False,
    form: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Format of lens export whose turns of a chat are asked, by the chat template of the model, e.g. "
            "openai-chat; default: the template of the selection. It holds fixed demonstrations alone.",
            show_default=False,
        ),
    ] = None,
    orders: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Number of other orders of the fixed demonstrations that are judged too."
        ),
    ] = 0,
    num_prompts: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Number of prompts of the classifier that are asked, the first; default: all.",
            show_default=False,
        ),
    ] = None,
    text_column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Name of the column of texts; repeat it to join the texts of several; default: that of the selection, "
            "or found.",
        ),
    ] = None,
    label_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the column of labels; default: label, or found.")
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Model that is asked: a bundled name, a folder, a .gguf file, or a Hugging Face hub id; with "
            "--endpoint its name at the server; default: the one that the selection asked.",
            show_default=False,
        ),
    ] = None,
    dtype: Annotated[
        str | None,
        typer.Option(
            help="Precision: float32, bfloat16, float16 or auto; default: that of the selection, and auto for another "
            "model.",
            show_default=False,
        ),
    ] = None,
    device: Device = "auto",
    output: Annotated[
        Path | None, typer.Option(help="File for the figures as JSON; it is replaced if it exists.")
    ] = None,
    *,
    served: EndpointOptions,
) -> None:
    """Judge the support examples of a result, or a classifier, on labelled rows.

    Support examples are judged as the prompt that was chosen: where it finds demonstrations for each input, it finds
    them for these rows too.

    The model can be another, the prompt can be asked as turns of a chat, and its examples in other orders: as
    production asks. Of the rows of the selection itself, its test rows alone are judged, and the answers are compared
    with those of the selection.

    Example:

        lens evaluate result.json new.csv --form openai-chat --orders 4
    """
    from lens_cli.evaluate.run import EvaluationOptions, EvaluationRun
    from lens_cli.select.sources import Sources
    from lens_cli.views.result import show_evaluation
    from lens_engine.disk.replace_file import replace_file
    from lens_engine.reading import Dialect
    from lens_engine.scoring.base import LabelScorer

    try:
        with refusing(), ExitStack() as exits:
            check_output(output)
            found = SubjectFile(what, prompts, use, is_fixed=fixed, is_chat=form is not None).read()
            sources = Sources(
                dataset,
                text_column=join_columns(text_column),
                label_column=label_column,
                dialect=Dialect(encoding, delimiter),
                usual=found.classifier.input,
            )
            chosen = served.choose_again(model, found.classifier.model, dtype=dtype, device=device)
            asked = chosen.reference if chosen is not None and chosen.endpoint is not None else model
            options = EvaluationOptions(form, num_prompts, asked, dtype, orders)
            run = EvaluationRun.prepare(found, sources, options)

            def open_scorer(_: str, precision: str) -> LabelScorer:
                assert chosen is not None
                # No pair cache: the texts of production would displace the scores of selections.
                opening = chosen.opened(dtype=precision, device=device, remembers=False)
                return exits.enter_context(opening).scorer

            result = run.execute(open_scorer, Console(stderr=True))
            if output is not None:
                replace_file(output, (result.model_dump_json(indent=2) + "\n").encode())
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_INTERRUPTED) from None
    show_evaluation(result, found.name, output, Console(highlight=False))
