"""`lens report` and `lens export`: a result as a report for people, and in the form that another tool loads."""

import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer
from rich.console import Console

from lens_cli.refusals import check_output, refusing, show_note
from lens_cli.subject_file import read_result
from lens_engine.config import Use
from lens_engine.disk import replace_file

if TYPE_CHECKING:
    from lens_engine.result import SelectionResult
    from lens_engine.show.report import Texts

_OTHER_PROMPT = "a model does not get the prompt that was evaluated from this form; measure it before you rely on it"


def export(
    result: Annotated[Path, typer.Argument(help="Result: a file that lens select --output wrote.")],
    format: Annotated[
        str,
        typer.Option(
            help="Format: json, text, jsonl, csv, openai-chat, anthropic, gemini, langchain, dspy, promptfoo or "
            "markdown."
        ),
    ] = "text",
    use: Annotated[
        str | None,
        typer.Option(help="Use for which the prompt is the best: prompt or probabilities; default: that of the run."),
    ] = None,
    output: Annotated[Path | None, typer.Option(help="File to write; default: standard output.")] = None,
) -> None:
    """Write the support examples of a result in the form that another tool loads.

    `text` and `json` give a model the prompt that was evaluated. The turns of a chat do not. Where the best prompt
    finds demonstrations for each input, every format has its fixed form.

    Example:

        lens export result.json --format openai-chat --output prompt.json
    """
    with refusing():
        check_output(output, sources=(result,))
        content, note = _export(result, format, cast(Use | None, use))
        if output is not None:
            replace_file(output, content)
    if output is None:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    if note:
        show_note(note, Console(stderr=True))


def _export(path: Path, format: str, use: Use | None) -> tuple[bytes, str | None]:
    """The export of a result, with a note on it."""
    from lens_engine.show.exports import FORMATS, Source, export_support_examples
    from lens_engine.types import FormatName

    result = read_result(path)
    content = export_support_examples(result, cast(FormatName, format), use=use)
    source = Source.of_result(result, use)
    is_evaluated = FORMATS[cast(FormatName, format)].is_evaluated_prompt(source.task)
    return content, " ".join(filter(None, [source.note, None if is_evaluated else _OTHER_PROMPT])) or None


def report(
    result: Annotated[Path, typer.Argument(help="Result: a file that lens select --output wrote.")],
    output: Annotated[Path | None, typer.Option(help="File to write; default: RESULT with the ending .html.")] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", metavar="", help="Replace the file if it exists; otherwise it is refused.")
    ] = False,
) -> None:
    """Write a report: a box to sign, accuracies, confusions, support examples and calibration, in one file.

    The HTML file needs no other file and no network. Texts of test rows and of suspicious labels are not in a result;
    lens select --report has them.

    Example:

        lens report result.json
    """
    path = output or result.with_suffix(".html")
    with refusing():
        check_output(path, overwrite=overwrite, sources=(result,))
        found = read_result(result)
        write_report(path, found, found.provenance.dataset or result.name, result.stat().st_mtime)
    typer.echo(f"Written: {path}")


def write_report(path: Path, result: "SelectionResult", name: str, made: float, texts: "Texts | None" = None) -> None:
    """Write a report as HTML, with the name of the dataset or result, and the day of `made` (seconds since 1970)."""
    from lens_engine.show.report import ResultView, Texts, write_html

    replace_file(path, write_html(ResultView(result, texts or Texts(), name, date.fromtimestamp(made))).encode())
