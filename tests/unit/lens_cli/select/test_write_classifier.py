"""`lens select --classifier`: the classifier to use as a file."""

from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from lens_cli.select.options import SelectionFiles
from lens_cli.select.run import SelectionRun, show_files, write_files
from lens_engine.classifier.bag_of_words import fit_bag_of_words
from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.heads import BagOfWordsHead
from lens_engine.presets import resolve_config
from lens_engine.prompt.template import Task
from lens_engine.result import Verdict
from lens_engine.rows.problem import Problem
from lens_engine.show.verdict import USE_NOTHING
from lens_engine.types import StopReason
from tests.unit.lens_cli.results import CLASSIFIER, make_result

RUN = SelectionRun(Problem(Task("{text} {label}", {"a": "a", "b": "b"}), []), resolve_config())


def test_classifier_of_the_result_is_written(tmp_path: Path) -> None:
    path, console = tmp_path / "classifier.json", Console(file=StringIO())
    assert write_files(SelectionFiles(classifier=path), make_result(), RUN, console).classifier == path
    assert Classifier.load(path) == CLASSIFIER


def test_missing_classifier_is_reported_and_nothing_is_written(tmp_path: Path) -> None:
    path, console = tmp_path / "classifier.json", Console(file=StringIO(), width=200)
    written = write_files(SelectionFiles(classifier=path), make_result(classifier=None), RUN, console)
    assert written == SelectionFiles()
    assert isinstance(console.file, StringIO)
    assert f"the run ended before it made a classifier; {path} was not written" in console.file.getvalue()
    assert not path.exists()


PROMPT = {"first": "prompt"}
NOTHING = {"verdict": Verdict(sentence=f"{USE_NOTHING}: the classifier is right for 190 of 200 test texts.")}


def test_written_files_and_the_next_command_are_named() -> None:
    console = Console(file=StringIO(), width=300)
    show_files(make_result(), SelectionFiles(Path("result.json"), Path("my classifier.json")), console)
    assert isinstance(console.file, StringIO)
    assert console.file.getvalue().splitlines() == [
        "Written: result.json (with the single prompt as text: support_examples[0].prompt), "
        f"my classifier.json (prompts: {len(CLASSIFIER.prompts)}, head: {CLASSIFIER.head.kind})",
        "Next: lens classify new.csv --classifier 'my classifier.json' --output predictions.csv",
    ]


def test_file_that_holds_words_of_the_texts_is_said_to() -> None:
    console = Console(file=StringIO(), width=300)
    words = fit_bag_of_words(["good film", "bad film", "good", "bad"], np.array([0, 1, 0, 1]), 2).regression
    bag = CLASSIFIER.model_copy(update={"head": BagOfWordsHead(bag_of_words=words), "prompts": (), "model": None})
    show_files(make_result(classifier=bag), SelectionFiles(classifier=Path("classifier.json")), console)
    assert isinstance(console.file, StringIO)
    assert "classifier.json holds words of your texts; --option classifier.kind=states" in console.file.getvalue()


@pytest.mark.parametrize(
    ("changes", "output", "classifier", "command"),
    [
        ({}, None, None, "lens select train.csv --classifier classifier.json"),
        ({}, "result.json", None, "lens select train.csv --classifier classifier.json"),
        ({}, None, "c.json", "lens classify new.csv --classifier c.json --output predictions.csv"),
        (NOTHING, "result.json", "c.json", None),
        (PROMPT, None, "c.json", "lens select train.csv --output result.json"),
        (PROMPT, "result.json", "c.json", None),
        ({"classifier": None}, None, None, "lens select train.csv --output result.json"),
        ({"classifier": None}, "result.json", None, None),
        ({"stop_reason": StopReason.CANCELLED}, "result.json", "c.json", "lens select train.csv"),
    ],
)
def test_next_command_leads_to_what_is_recommended(
    changes: dict[str, Any],
    output: str | None,
    classifier: str | None,
    command: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.argv", ["/bin/lens", "select", "train.csv"])
    console = Console(file=StringIO(), width=300)
    files = SelectionFiles(output and Path(output), classifier and Path(classifier))  # type: ignore[arg-type]
    show_files(make_result(**changes), files, console)
    assert isinstance(console.file, StringIO)
    shown = [line for line in console.file.getvalue().splitlines() if line.startswith("Next: ")]
    assert shown == ([] if command is None else [f"Next: {command}"])
