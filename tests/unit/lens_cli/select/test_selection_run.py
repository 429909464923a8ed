"""The files that `lens select` leaves, rows without a label among them, and how a run that is stopped early ends."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from lens_cli.refusals import Refusal
from lens_cli.select.options import SearchOptions, SelectionFiles
from lens_cli.select.run import SelectionRun, show_files, write_files, write_unlabelled
from lens_cli.select.sources import Sources
from lens_cli.suggest.view import write_command
from lens_engine.classifier.bag_of_words import fit_bag_of_words
from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.heads import BagOfWordsHead
from lens_engine.errors import Faults
from lens_engine.files import ParsingLimits, read_texts
from lens_engine.opening import LanguageModel
from lens_engine.presets import resolve_config
from lens_engine.prompt.template import Task, Template
from lens_engine.prompt.verbalizer import Verbalizer
from lens_engine.rows.problem import Problem
from lens_engine.run.suggest import suggest
from lens_engine.testing import TableScorer
from lens_engine.types import Example, StopReason
from tests.dispositions import default_signals
from tests.unit.lens_cli.results import CLASSIFIER, QUALITY, make_result, make_tested, printed_on

RUN = SelectionRun(Problem(Task("{text} {label}", {"a": "a", "b": "b"}), []), resolve_config())


def test_classifier_of_the_result_is_written(tmp_path: Path) -> None:
    path, console = tmp_path / "classifier.json", Console(file=StringIO())
    assert write_files(SelectionFiles(classifier=path), make_result(), RUN, console).classifier == path
    assert Classifier.load(path) == CLASSIFIER


def test_missing_classifier_is_reported_and_nothing_is_written(tmp_path: Path) -> None:
    path, console = tmp_path / "classifier.json", Console(file=StringIO(), width=200)
    written = write_files(SelectionFiles(classifier=path), make_result(classifier=None), RUN, console)
    assert written == SelectionFiles()
    assert f"the run ended before it made a classifier; {path} was not written" in printed_on(console)
    assert not path.exists()


PROMPT = {"first": "prompt"}
GUESSED = QUALITY.model_copy(update={"largest_class": 0.95})
NOTHING = {"tested": (make_tested("states", "states", is_chosen=True, test=GUESSED),)}


def test_written_files_and_the_next_command_are_named() -> None:
    console = Console(file=StringIO(), width=300)
    show_files(make_result(), SelectionFiles(Path("result.json"), Path("my classifier.json")), console)
    assert printed_on(console).splitlines() == [
        "Written: result.json (with 1 text of yours), my classifier.json (with 1 text of yours)",
        "Next: lens classify new.csv --classifier 'my classifier.json' --output predictions.csv",
    ]


def test_file_that_holds_words_of_the_texts_is_said_to() -> None:
    console = Console(file=StringIO(), width=300)
    words = fit_bag_of_words(["good film", "bad film", "good", "bad"], np.array([0, 1, 0, 1]), 2).regression
    bag = CLASSIFIER.model_copy(update={"head": BagOfWordsHead(bag_of_words=words), "prompts": (), "model": None})
    show_files(make_result(classifier=bag), SelectionFiles(classifier=Path("classifier.json")), console)
    assert "classifier.json holds words of your texts; --option classifier.kind=states" in printed_on(console)


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
    shown = [line for line in printed_on(console).splitlines() if line.startswith("Next: ")]
    assert shown == ([] if command is None else [f"Next: {command}"])


LABELS = ("billing", "delivery", "")


@pytest.fixture
def train(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    rows = "".join(f'Sunny,"message {number}, please",{LABELS[number % 3]}\n' for number in range(60))
    path.write_text(f"title,body,sort\n{rows}")
    return path


def test_unlabelled_rows_are_written_as_a_file_that_classify_reads(train: Path, tmp_path: Path) -> None:
    sources, faults = Sources(train, text_column=("title", "body"), skips_unlabelled=True), Faults()
    read = sources.read(faults)
    assert len(read.dataset) == 40
    assert read.input.text_column == ("title", "body")
    (tmp_path / "unlabelled.csv").write_bytes(write_unlabelled(read.unlabelled))
    found = read_texts(tmp_path / "unlabelled.csv", ParsingLimits.of_own_files())
    assert [row.text for row in found.rows] == [f"Sunny\nmessage {number}, please" for number in range(2, 60, 3)]


def test_suggested_command_has_the_option_and_the_joined_columns(train: Path) -> None:
    suggestion = suggest(train, text_column=("title", "body"))
    command = write_command(replace(suggestion), Sources(train))
    assert "--text-column title --text-column body --label-column sort" in command
    assert "--option rows.unlabelled=skip" in command


TASK = Task(Template("{text} It was {label}."), Verbalizer({"positive": "great", "negative": "terrible"}))
EXAMPLES = [Example(row, f"film {row}", "positive" if row % 2 else "negative") for row in range(200)]
SMALL = ["filtering.candidates=64", "filtering.keep=16", "search.first_permutations=8", "search.iterations=0"]


@pytest.mark.parametrize(
    ("remembers", "is_resumable", "end"),
    [
        (True, False, "what was scored is kept, run the same command again to go on"),
        (False, False, "nothing is kept, because the pair cache is off and there is no checkpoint yet"),
        (False, True, "what was scored is kept, run the same command again to go on"),
    ],
)
def test_run_that_is_stopped_early_says_whether_scores_are_kept(
    remembers: bool, is_resumable: bool, end: str, tmp_path: Path, stopping_scorer: TableScorer
) -> None:
    checkpoint = tmp_path / "run.checkpoint" if is_resumable else None
    config = SearchOptions(option=SMALL).read()
    run = SelectionRun(Problem(TASK, EXAMPLES), config)
    stream = StringIO()
    console = Console(file=stream, width=100)

    with pytest.raises(Refusal) as refusal:
        run.execute(LanguageModel(stopping_scorer), checkpoint, console, remembers=remembers)

    assert checkpoint is None or checkpoint.exists()
    assert str(refusal.value) == f"stopped before any examples were chosen; {end}"
    assert refusal.value.exit_code == 130
    assert "Done" not in stream.getvalue()


@pytest.fixture
def stopping_scorer() -> Iterator[TableScorer]:
    """A scorer that sends this process one Ctrl-C, before its first call."""

    def interrupt(call: int) -> None:
        if call == 0:
            os.kill(os.getpid(), signal.SIGINT)

    with default_signals():
        yield TableScorer(before_call=interrupt)
