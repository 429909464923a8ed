"""`lens export`: the support examples of a result in the form that another tool loads."""

import sys
from pathlib import Path
from typing import Annotated, cast

import typer
from pydantic import ValidationError
from rich.console import Console

from lens_cli.refusals import RefusedInput, check_output, refusing
from lens_cli.views.notes import show_note
from lens_engine.config import Use
from lens_engine.disk.replace_file import replace_file


def export(
    result: Annotated[Path, typer.Argument(help="Result: a file that lens select --output wrote.")],
    format: Annotated[
        str,
        typer.Option(
            help="Format: json, text, jsonl, csv, openai-chat, anthropic, gemini, langchain, dspy, promptfoo, lm-eval "
            "or markdown."
        ),
    ] = "text",
    use: Annotated[
        str | None,
        typer.Option(help="Use for which the prompt is the best: prompt or probabilities; default: that of the run."),
    ] = None,
    output: Annotated[Path | None, typer.Option(help="File to write; default: standard output.")] = None,
) -> None:
    """Write the support examples of a result in the form that another tool loads.

    `text`, `json` and `lm-eval` give a model the prompt that was evaluated. The turns of a chat do not: measure them
    before production takes them.

    Example:

        lens export result.json --format openai-chat --output prompt.json
    """
    from lens_engine.exports import FORMATS, FormatName, export_support_examples

    with refusing():
        check_output(output)
        try:
            content = export_support_examples(result, cast(FormatName, format), use=cast(Use | None, use))
        except ValidationError as error:
            raise RefusedInput(f"{result} is no result of lens select --output", "where: RESULT") from error
    if output is None:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        replace_file(output, content)
    if not FORMATS[cast(FormatName, format)].is_evaluated_prompt:
        note = "a model does not get the prompt that was evaluated from this form; measure it before you rely on it"
        show_note(note, Console(stderr=True))
