"""`lens export`: the support examples of a result in the form that another tool loads."""

import sys
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.console import Console

from lens_cli.refusals import check_output, refusing
from lens_cli.subject_file import read_result
from lens_cli.views.notes import show_note
from lens_engine.config import Use
from lens_engine.disk.replace_file import replace_file

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
        check_output(output)
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
    from lens_engine.exports import FORMATS, FormatName, Source, export_support_examples

    result = read_result(path)
    content = export_support_examples(result, cast(FormatName, format), use=use)
    source = Source.of_result(result, use)
    is_evaluated = FORMATS[cast(FormatName, format)].is_evaluated_prompt(source.task)
    return content, " ".join(filter(None, [source.note, None if is_evaluated else _OTHER_PROMPT])) or None
