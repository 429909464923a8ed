"""The files that a selection leaves."""

import shlex
from pathlib import Path

from rich.console import Console
from rich.text import Text

from lens_cli.views.notes import show_note
from lens_engine.disk.replace_file import replace_file
from lens_engine.result import SelectionResult


def write_result(result: SelectionResult, path: Path) -> None:
    """Write it as JSON, whole or not at all."""
    replace_file(path, (result.model_dump_json(indent=2) + "\n").encode())


def warn_of_loss(console: Console) -> None:
    """Say that the run will leave no file."""
    note = "no file will be written; add --classifier classifier.json to keep the classifier"
    show_note(note, console)


def show_files(result: SelectionResult, output: Path | None, classifier: Path | None, console: Console) -> None:
    """Say which files were written, and the command that uses the classifier."""
    written = [] if output is None else [f"{output} (with the single prompt as text: prompt)"]
    kept = result.classifier
    if classifier is not None and kept is not None:
        written.append(f"{classifier} (prompts: {len(kept.prompts)}, head: {kept.head.kind})")
    if written:
        console.print(Text(f"Written: {', '.join(written)}"), soft_wrap=True)
    if classifier is not None and kept is not None and kept.holds_words:
        console.print(Text(f"{classifier} holds words of your texts."), soft_wrap=True)
    if classifier is not None:
        words = ["lens", "classify", "new.csv", "--classifier", str(classifier), "--output", "predictions.csv"]
        console.print(Text(f"Next: {shlex.join(words)}"), soft_wrap=True)


def write_classifier(result: SelectionResult, path: Path, console: Console) -> bool:
    """Write the classifier to use and return True, or say that there is none."""
    classifier = result.classifier
    if classifier is None:
        note = f"the run ended before it made a classifier; {path} was not written"
        show_note(note, console)
    else:
        classifier.save(path)
    return classifier is not None
