"""`lens label-next`: which texts of a file to label next."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from lens_cli.asked_model import SameModelOptions, ServerOptions, describe_opening
from lens_cli.file_options import RowFileOptions, takes_groups
from lens_cli.refusals import check_output, show_note
from lens_cli.subject_file import SubjectFile

if TYPE_CHECKING:
    from lens_engine.types import FloatArray


@takes_groups
def label_next(
    texts: Annotated[Path, typer.Argument(metavar="INPUT", help="Texts without labels: a file of any usual shape.")],
    labelled: Annotated[Path, typer.Option("--with", help="The rows that are labelled already: a file or a folder.")],
    rows: RowFileOptions,
    model: SameModelOptions,
    served: ServerOptions,
    number: Annotated[int, typer.Option("-n", "--number", min=1, max=1000, help="Number of texts.")] = 20,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="CSV file for them; default: standard output.")
    ] = None,
    classifier: Annotated[
        Path | None,
        typer.Option(help="Classifier, as of lens classify; from 50 labelled rows on, texts on which it doubts count."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of what is drawn at random.")] = 0,
) -> None:
    """Say which texts of a file to label next: its rows as CSV, with an empty column for the label, and `chosen_by`.

    Two thirds are `spread`: each stands for many other texts that no labelled text is like. One third is drawn
    `at random`. Only these are a fair sample, by which an accuracy can be estimated. Texts that are labelled or
    repeated are left out.

    Example:

        lens label-next unlabelled.csv --with train.csv -n 20 -o next.csv
    """
    from lens_cli.select.sources import Sources
    from lens_engine.disk import replace_file
    from lens_engine.errors import Faults
    from lens_engine.evaluation.table import write_chosen
    from lens_engine.files import Named, ParsingLimits, read_texts
    from lens_engine.prompt.labelling import LEAST_LABELS, MOST_TEXTS, choose_texts
    from lens_engine.prompt.wording import show_count

    check_output(output, sources=(texts, labelled, classifier))
    console, faults = Console(stderr=True), Faults()
    sources = Sources(labelled, None, rows.columns, rows.label_column, rows.dialect, skips_unlabelled=True)
    known = sources.read(faults)
    faults.refuse()
    columns = Named(rows.columns, usual_text=known.input.text_column)
    found = read_texts(texts, ParsingLimits.of_own_files(), columns=columns, field="input", dialect=rows.dialect)
    for note in (*known.notes, *found.warnings):
        show_note(note, console)
    if classifier is not None and len(known.dataset) < LEAST_LABELS:
        show_note(f"the classifier is not asked, because fewer than {LEAST_LABELS} rows are labelled", console)

    def ask(asked: Sequence[str]) -> "FloatArray":
        assert classifier is not None
        made = SubjectFile(classifier, usual="classifier", where="--classifier").read().classifier
        with model.opening(served, made.model) as (chosen, open_scorer):
            if chosen is None or made.model is None:
                return made.predict(asked).probabilities
            console.print(describe_opening(chosen.reference))
            return made.predict(asked, open_scorer(model.dtype or made.model.dtype)).probabilities

    good, labelled_here, notes = found.part_by_labels(known.label_column)
    for note in notes:
        show_note(note, console)
    taken = [*(one.text for one in known.dataset), *labelled_here]
    chosen = choose_texts(good, taken, number, seed=seed, ask=None if classifier is None else ask)
    if chosen.num_compared == MOST_TEXTS:
        show_note(f"at most {MOST_TEXTS:,} texts are compared; of more, a random sample was", console)
    if len(chosen.texts) < number:
        show_note(f"only {show_count(len(chosen.texts), 'text', 'is')} new and without a label", console)
    content = write_chosen(found, chosen.texts, known.label_column)
    if output is None:
        typer.echo(content, nl=False)
    else:
        replace_file(output, content)
        show_note(f"{show_count(len(chosen.texts), 'text')} in {output}", console)
