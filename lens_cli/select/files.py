"""The files that a selection leaves."""

import csv
import io
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from lens_cli.views.notes import show_note
from lens_engine.result import SelectionResult
from lens_engine.types import Example, StopReason

_WITHOUT_WORDS = "--option classifier.kind=states makes one without them"


def show_files(
    result: SelectionResult,
    output: Path | None,
    classifier: Path | None,
    console: Console,
    asked: Sequence[str] = (),
    report: Path | None = None,
) -> None:
    """Say which files were written, and the command that runs what the result recommends.

    Args:
        output, classifier, report: the files that were written.
        asked: the arguments that name the server of the model; none for a model on this machine.
    """
    written = [] if output is None else [f"{output} (with the single prompt as text: support_examples[0].prompt)"]
    kept, more = result.classifier, list[str]()
    if classifier is not None and kept is not None:
        written.append(f"{classifier} (prompts: {len(kept.prompts)}, head: {kept.head.kind})")
        more += [f"{classifier} holds words of your texts; {_WITHOUT_WORDS}."] if kept.holds_words else []
    written += [] if report is None else [f"{report} (a report, with texts of your rows)"]
    if words := _find_next_command(result, output, classifier):
        if words[1] == "classify" and kept is not None and kept.model is not None:
            words += asked
        more.append(f"Next: {shlex.join(words)}")
    for line in ([f"Written: {', '.join(written)}"] if written else []) + more:
        console.print(Text(line), soft_wrap=True)


def _find_next_command(result: SelectionResult, output: Path | None, classifier: Path | None) -> list[str]:
    """The command that uses the classifier, or the one that keeps what is recommended; none where a file has it."""
    again = ["lens", *sys.argv[1:]]
    if result.stop_reason is StopReason.CANCELLED:
        return again
    if result.classifier is None:
        return [] if output is not None else [*again, "--output", "result.json"]
    if classifier is None:
        return [*again, "--classifier", "classifier.json"]
    return ["lens", "classify", "new.csv", "--classifier", str(classifier), "--output", "predictions.csv"]


def write_unlabelled(rows: Sequence[Example]) -> bytes:
    """Rows with a text and no label as CSV, which lens classify reads: the place of each, and its text."""
    file = io.StringIO()
    csv.writer(file).writerows([("row", "text"), *((one.row, one.text) for one in rows)])
    return file.getvalue().encode()


def write_classifier(result: SelectionResult, path: Path, console: Console) -> bool:
    """Write the classifier to use and return True, or say that there is none."""
    if result.classifier is None:
        show_note(f"the run ended before it made a classifier; {path} was not written", console)
        return False
    result.classifier.save(path)
    return True
