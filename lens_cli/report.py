"""`lens report`: a result as a report for people."""

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lens_cli.refusals import check_output, refusing
from lens_cli.subject_file import read_result
from lens_engine.disk.replace_file import replace_file

if TYPE_CHECKING:
    from lens_engine.result import SelectionResult
    from lens_engine.show.report import ResultView, Texts


def report(
    result: Annotated[Path, typer.Argument(help="Result: a file that lens select --output wrote.")],
    output: Annotated[Path | None, typer.Option(help="File to write; default: RESULT with the ending .html.")] = None,
) -> None:
    """Write a report: what to use, accuracies, support examples, confusions and calibration, in one file.

    The HTML file needs no other file and no network. Texts of test rows and of suspicious labels are not in a result;
    lens select --report has them.

    Example:

        lens report result.json
    """
    path = output or result.with_suffix(".html")
    with refusing():
        check_output(path)
        write_report(make_view(read_result(result), result.name, result.stat().st_mtime), path)
    typer.echo(f"Written: {path}")


def make_view(result: "SelectionResult", name: str, made: float, texts: "Texts | None" = None) -> "ResultView":
    """A result as a report shows it, titled by a file and the day on which the result was made.

    Args:
        name: of the file of the dataset, or of the result.
        made: seconds since 1970.
    """
    from lens_engine.show.report import ResultView, Texts

    facts = result.provenance
    about = f"Support examples for {facts.model}, chosen by Lens {facts.lens}"
    return ResultView(result, texts or Texts(), f"{name}, {date.fromtimestamp(made)}", about)


def write_report(view: "ResultView", path: Path) -> None:
    """Write a report as HTML."""
    from lens_engine.show.documents import write_html

    replace_file(path, write_html(view).encode())
