"""`lens select`: one selection on this machine, without the service."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from lens_cli.endpoint_options import EndpointOptions, takes_endpoint
from lens_cli.file_options import Delimiter, Encoding, Unlabelled, join_columns
from lens_cli.model_options import Device, Dtype, PairCache
from lens_cli.refusals import EXIT_INTERRUPTED, check_output, refusing
from lens_engine.config import METHOD_NAMES, ComparisonsOption, MethodName, PresetName
from lens_engine.errors import Faults
from lens_engine.local.model_files import BUNDLED_MODEL
from lens_engine.task.defaults import DEFAULT_TEMPLATE
from lens_engine.types import StopReason


@takes_endpoint
def select(
    train: Annotated[
        Path,
        typer.Argument(
            help="Labelled examples: a file of any usual shape with columns of texts and labels, or a folder. Some 500 "
            "rows give a first result; lens suggest says what a file offers."
        ),
    ],
    template: Annotated[
        list[str] | None,
        typer.Option(
            help="Prompt with one {text} followed by one {label}, e.g. '{text} It was {label}.'; repeatable: the run "
            f"begins with the choice among several. Default: {DEFAULT_TEMPLATE!r}."
        ),
    ] = None,
    verbalizer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL=WORD",
            help="Label word of one label; repeat for each label. LABEL alone: the label is its own word. Or a JSON "
            "file, with an object of labels and words. Default: each label of TRAIN is its own word.",
        ),
    ] = None,
    test: Annotated[
        Path | None, typer.Option(help="Test rows for the report; default: 25 % of TRAIN is held out.")
    ] = None,
    text_column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Name of the column of texts, in TRAIN and TEST; repeat it to join the texts of several; 'column 2' "
            "is the second; default: text, or found in TRAIN.",
        ),
    ] = None,
    label_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Name of the column of labels, in TRAIN and TEST; default: label, or found in TRAIN."
        ),
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    model: Annotated[
        str,
        typer.Option(
            help="Model: a bundled name, a folder, a .gguf file, or a Hugging Face hub id; with --endpoint its name at "
            "the server, or both as KIND:NAME@URL."
        ),
    ] = BUNDLED_MODEL,
    method: Annotated[
        MethodName | None,
        typer.Option(
            metavar="NAME",
            help=f"Method that chooses the demonstrations: {', '.join(METHOD_NAMES)}; default: lens.",
        ),
    ] = None,
    preset: Annotated[
        PresetName,
        typer.Option(
            metavar="NAME",
            help="Complete configuration to start from. quick: minutes on a CPU with a small model. "
            "standard: five to ten times the work of quick. paper: the paper's settings.",
        ),
    ] = "quick",
    seed: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Seed of every random choice; default: 0.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Option that overrides the preset, e.g. search.beam_width=8; repeatable. docs/reference.md lists "
            "the names.",
        ),
    ] = None,
    separator: Annotated[
        str, typer.Option(help="Text that ends each demonstration; default: a line break.", show_default=False)
    ] = "\n",
    instruction: Annotated[
        list[str] | None,
        typer.Option(
            help="Text that stands once before the demonstrations, or begins the system message of a chat; '' for "
            "none; repeatable: each is tried with each template, at most 16 wordings. Default: none. lens suggest "
            "proposes some.",
            show_default=False,
        ),
    ] = None,
    dtype: Dtype = "auto",
    device: Device = "auto",
    actors: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, help="Number of processes that share the run; each takes one GPU if there are GPUs."
        ),
    ] = 1,
    ray_address: Annotated[
        str | None, typer.Option(help="Address of a running Ray cluster for these processes: HOST:PORT, or auto.")
    ] = None,
    pair_cache: PairCache = True,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Checkpoint file. If it exists and belongs to this run, the run resumes from it. Without one, the "
            "same command resumes from the pair cache."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="File for the complete result as JSON; it is replaced if it exists.")
    ] = None,
    classifier: Annotated[
        Path | None,
        typer.Option(help="File for the classifier as JSON; lens classify reads it. It is replaced if it exists."),
    ] = None,
    suspicious: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File for the rows whose label is probably wrong as CSV, the most suspicious first; it is replaced.",
        ),
    ] = None,
    unlabelled: Unlabelled = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File for a report for people, with texts of your rows: HTML, or Markdown if its name ends in .md; it "
            "is replaced.",
        ),
    ] = None,
    compare: Annotated[
        ComparisonsOption | None,
        typer.Option(
            metavar="NAME",
            help="Comparisons of the support examples. usual: zero-shot, and random-and-validation at the same cost. "
            "all: other orders too. none: zero-shot only, if the splits have confirmation rows. Default: usual.",
        ),
    ] = None,
    estimate: Annotated[
        bool,
        typer.Option(
            "--estimate", metavar="", help="Show the expected cost of the run and the rows of each split, and exit."
        ),
    ] = False,
    *,
    served: EndpointOptions,
) -> None:
    """Find support examples and make a classifier on this machine, without the service.

    Lens searches for the support examples, compares their prompt with others, and chooses a classifier.

    Ctrl-C stops the run within seconds and keeps the best support examples so far. A second Ctrl-C ends it
    without a result.

    Example:

        lens select train.csv --template '{text} It was {label}.' \\
          --verbalizer positive=great --verbalizer negative=terrible \\
          --preset quick --output result.json --classifier classifier.json
    """
    from lens_cli.report import write_report
    from lens_cli.select.advice import advise, note_language
    from lens_cli.select.files import show_files, write_classifier, write_unlabelled
    from lens_cli.select.options import read_config, read_task_request
    from lens_cli.select.run import ModelChoice, SelectionRun, opened_model
    from lens_cli.select.sources import Sources
    from lens_cli.signals import interruptible
    from lens_cli.views.notes import show_note
    from lens_cli.views.progress import selection_bar
    from lens_cli.views.result import show_estimate, show_result, show_suspicious_labels
    from lens_engine.disk.replace_file import replace_file
    from lens_engine.exports.suspicious_labels import write_suspicious_labels
    from lens_engine.reading import Dialect
    from lens_engine.run.preparation import estimate_cost
    from lens_engine.show.report import ResultView

    console = Console(stderr=True)
    try:
        with refusing(lambda error: advise(error, train)):
            check_output(output)
            check_output(classifier, "--classifier")
            check_output(checkpoint, "--checkpoint")
            check_output(suspicious, "--suspicious")
            check_output(unlabelled, "--unlabelled")
            check_output(report, "--report")
            faults, sources = Faults(), Sources(train, test, join_columns(text_column), label_column)
            with faults.noting():
                sources = replace(sources, dialect=Dialect(encoding, delimiter))
            with faults.noting():
                asked = read_task_request(template, verbalizer, separator, instruction, sources.list_labels)
            with faults.noting():
                config = read_config(preset, seed, method, option or [], comparisons=compare, max_cost=served.max_cost)
            faults.refuse()
            chosen = served.choose(model, dtype=dtype, device=device, actors=actors, ray_address=ray_address)
            run = SelectionRun.prepare(sources, asked, config)
            foreign = note_language(run.problem.examples, chosen.reference)
            for note in (*run.notes, *foreign):
                show_note(note, console)
            if output is None and classifier is None and not estimate:
                show_note("no file will be written; add --classifier classifier.json to keep the classifier", console)
            choice = ModelChoice(chosen, dtype, device, actors, ray_address)
            remembers = pair_cache and not (estimate and chosen.endpoint is None)  # a paid sample is kept
            with opened_model(choice, console, checkpoint=checkpoint, remembers=remembers) as opened:
                if estimate:
                    with selection_bar(console, transient=True) as bar, interruptible():
                        bar.wait("Measuring the speed of the model")
                        cost = estimate_cost(run.problem, opened.scorer, run.config)
                    show_estimate(cost, Console(highlight=False))
                    return
                result = run.execute(opened, checkpoint, console, remembers=pair_cache)
            if output is not None:
                replace_file(output, (result.model_dump_json(indent=2) + "\n").encode())
            if suspicious is not None:
                content = write_suspicious_labels(result.suspicious_labels, run.texts.dataset)
                replace_file(suspicious, content.encode("utf-8-sig"))
            if unlabelled is not None:
                replace_file(unlabelled, write_unlabelled(run.unlabelled))
            if report is not None:
                write_report(ResultView(result, run.texts), report)
            is_written = classifier is not None and write_classifier(result, classifier, console)
    except KeyboardInterrupt:
        console.print("Stopped.")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    show_result(result, Console(highlight=False), shown=(*run.warnings, *foreign))
    show_suspicious_labels(result, run.problem.examples, Console(highlight=False))
    server = [] if chosen.endpoint is None else chosen.list_arguments(with_limit=False)
    show_files(result, output, classifier if is_written else None, Console(highlight=False), server, report)
    if result.stop_reason is StopReason.CANCELLED:
        raise typer.Exit(EXIT_INTERRUPTED)
