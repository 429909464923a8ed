"""`lens label-next`: which texts of a file to label next."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from lens_cli.file_options import RowFileOptions, takes_groups
from lens_cli.refusals import RefusedInput, check_output, show_note


@takes_groups
def label_next(
    texts: Annotated[Path, typer.Argument(metavar="INPUT", help="Texts without labels: a file of any usual shape.")],
    labelled: Annotated[Path, typer.Option("--with", help="The rows that are labelled already: a file or a folder.")],
    rows: RowFileOptions,
    number: Annotated[int, typer.Option("-n", "--number", min=1, max=1000, help="Number of texts.")] = 20,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="CSV file for them; default: standard output.")
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
    from lens_engine.prompt.labelling import MOST_TEXTS, choose_texts

    check_output(output)
    if output is not None and any(
        one.exists() and output.exists() and output.samefile(one) for one in (texts, labelled)
    ):
        raise RefusedInput(f"the output is the file {output} itself; name another file", "where: --output")
    console, faults = Console(stderr=True), Faults()
    sources = Sources(labelled, None, rows.columns, rows.label_column, rows.dialect, skips_unlabelled=True)
    known = sources.read(faults)
    faults.refuse()
    columns = Named(rows.columns, usual_text=known.input.text_column)
    found = read_texts(texts, ParsingLimits.of_own_files(), columns=columns, field="input", dialect=rows.dialect)
    for note in (*known.notes, *found.warnings):
        show_note(note, console)
    good = ["" if one.fault is not None else one.text for one in found.rows]
    taken = [one.text for one in known.dataset]
    chosen = choose_texts(good, taken, number, seed=seed)
    if chosen.num_compared == MOST_TEXTS:
        show_note(f"at most {MOST_TEXTS:,} texts are compared; of more, a random sample was", console)
    if len(chosen.texts) < number:
        show_note(f"there are only {len(chosen.texts):,} different texts without a label", console)
    content = write_chosen(found, chosen.texts, known.label_column)
    if output is None:
        typer.echo(content, nl=False)
    else:
        replace_file(output, content)
        show_note(f"{len(chosen.texts):,} texts in {output}", console)
