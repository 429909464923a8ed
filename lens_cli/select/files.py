"""The files that a selection leaves."""

import shlex
from pathlib import Path

from rich.console import Console
from rich.text import Text

from lens_cli.views.notes import show_note
from lens_engine.result import SelectionResult

_WITHOUT_WORDS = "--option classifier.kind=states makes one without them"


def show_files(result: SelectionResult, output: Path | None, classifier: Path | None, console: Console) -> None:
    """Say which files were written, and the command that uses the classifier."""
    written = [] if output is None else [f"{output} (with the single prompt as text: prompt)"]
    kept, more = result.classifier, list[str]()
    if classifier is not None and kept is not None:
        written.append(f"{classifier} (prompts: {len(kept.prompts)}, head: {kept.head.kind})")
        more += [f"{classifier} holds words of your texts; {_WITHOUT_WORDS}."] if kept.holds_words else []
        words = ["lens", "classify", "new.csv", "--classifier", str(classifier), "--output", "predictions.csv"]
        more.append(f"Next: {shlex.join(words)}")
    for line in ([f"Written: {', '.join(written)}"] if written else []) + more:
        console.print(Text(line), soft_wrap=True)


def write_classifier(result: SelectionResult, path: Path, console: Console) -> bool:
    """Write the classifier to use and return True, or say that there is none."""
    if result.classifier is None:
        show_note(f"the run ended before it made a classifier; {path} was not written", console)
        return False
    result.classifier.save(path)
    return True
