"""The files that a selection leaves."""

import csv
import io
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from lens_cli.documents import make_view, write_report
from lens_cli.refusals import show_note
from lens_cli.select.options import SelectionFiles
from lens_cli.select.run import SelectionRun
from lens_engine.disk import replace_file
from lens_engine.result import SelectionResult
from lens_engine.show.exports import write_suspicious_labels
from lens_engine.show.verdict import USE_NOTHING
from lens_engine.types import Example, StopReason

_WITHOUT_WORDS = "--option classifier.kind=states makes one without them"


def write_files(files: SelectionFiles, result: SelectionResult, run: SelectionRun, console: Console) -> SelectionFiles:
    """Write the files that were asked for. Returns those that are there: a stopped run may have no classifier."""
    origin = result.provenance.model_copy(update={"dataset": run.name or None})
    result = result.model_copy(update={"provenance": origin})
    if files.output is not None:
        replace_file(files.output, (result.model_dump_json(indent=2) + "\n").encode())
    if files.suspicious is not None:
        content = write_suspicious_labels(result.suspicious_labels, run.texts.dataset)
        replace_file(files.suspicious, content.encode("utf-8-sig"))
    if files.unlabelled is not None:
        replace_file(files.unlabelled, write_unlabelled(run.unlabelled))
    if files.report is not None:
        write_report(make_view(result, run.name, time.time(), run.texts), files.report)
    if files.classifier is None:
        return files
    if result.classifier is None:
        show_note(f"the run ended before it made a classifier; {files.classifier} was not written", console)
        return replace(files, classifier=None)
    result.classifier.save(files.classifier)
    return files


def show_files(result: SelectionResult, files: SelectionFiles, console: Console, asked: Sequence[str] = ()) -> None:
    """Say which files were written, and the command that runs what the result recommends.

    Args:
        files: those that were written.
        asked: the arguments that name the server of the model; none for a model on this machine.
    """
    output, classifier, kept = files.output, files.classifier, result.classifier
    written = [] if output is None else [f"{output} (with the single prompt as text: support_examples[0].prompt)"]
    more = list[str]()
    if classifier is not None and kept is not None:
        written.append(f"{classifier} (prompts: {len(kept.prompts)}, head: {kept.head.kind})")
        more += [f"{classifier} holds words of your texts; {_WITHOUT_WORDS}."] if kept.holds_words else []
    written += [] if files.report is None else [f"{files.report} (a report, with texts of your rows)"]
    if words := _find_next_command(result, files):
        if words[1] == "classify" and kept is not None and kept.model is not None:
            words += asked
        more.append(f"Next: {shlex.join(words)}")
    for line in ([f"Written: {', '.join(written)}"] if written else []) + more:
        console.print(Text(line), soft_wrap=True)


def _find_next_command(result: SelectionResult, files: SelectionFiles) -> list[str]:
    """The command that uses the classifier, or the one that keeps what is recommended; none where a file has it."""
    again = ["lens", *sys.argv[1:]]
    if result.stop_reason is StopReason.CANCELLED:
        return again
    if USE_NOTHING in result.verdict.sentence:
        return []
    if result.classifier is None or result.first == "prompt":
        return [] if files.output is not None else [*again, "--output", "result.json"]
    if files.classifier is None:
        return [*again, "--classifier", "classifier.json"]
    return ["lens", "classify", "new.csv", "--classifier", str(files.classifier), "--output", "predictions.csv"]


def write_unlabelled(rows: Sequence[Example]) -> bytes:
    """Rows with a text and no label as CSV, which lens classify reads: the number of each from 1, and its text."""
    file = io.StringIO()
    csv.writer(file).writerows([("row", "text"), *((one.row + 1, one.text) for one in rows)])
    return file.getvalue().encode("utf-8-sig")
