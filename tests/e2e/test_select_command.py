"""`lens select` with a real, tiny language model.

One run and the interrupted one are processes of their own. The others are called in this process, which has
imported torch already: that takes a process longer than its selection.
"""

import csv
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lens_cli.documents import write_report
from lens_engine.classifier.classifier import Classifier
from lens_engine.files import read_examples
from lens_engine.opening import open_model
from lens_engine.result import SelectionResult
from lens_engine.show.report import Texts
from tests.dispositions import default_signals
from tests.e2e.lens_command import SMALL, run
from tests.e2e.processes import ROOT
from tests.e2e.waiting import until


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "reviews.jsonl"
    rows = [
        {"text": f"film {row}, {'a joy' if row % 2 else 'a bore'}", "label": "positive" if row % 2 else "negative"}
        for row in range(160)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.fixture(scope="module", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Empty at first: what earlier test runs computed must not make these faster."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LENS_CACHE_DIR", str(folder))
        yield folder


def command(reviews: Path, model: Path, *more: str) -> list[str]:
    words = ["--verbalizer", "positive=great", "--verbalizer", "negative=terrible"]
    task = ["--template", "{text} It was {label}.", *words]
    how = ["--model", str(model), "--preset", "quick", "--dtype", "float32", "--device", "cpu"]
    return ["select", str(reviews), *task, *how, *SMALL, *more]


def start(words: list[str]) -> subprocess.Popen[str]:
    """The command in a process of its own."""
    arguments = [sys.executable, "-m", "lens_cli", *words]
    return subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def read_result(path: Path) -> SelectionResult:
    return SelectionResult.model_validate_json(path.read_text())


@pytest.fixture(scope="module")
def finished(reviews: Path, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """What an undisturbed process printed, and the result it wrote."""
    output = tmp_path_factory.mktemp("result") / "result.json"
    with start(command(reviews, model, "--verbose", "--output", str(output))) as process:
        printed, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    yield printed, output
    assert [path.name for path in output.parent.iterdir()] == ["result.json"]


def test_selection_prints_examples_table_and_digest(finished: tuple[str, Path]) -> None:
    printed, output = finished
    result = read_result(output)
    for part in ("Examples, in order", "Every way to answer", "no examples", "random 1", "words"):
        assert part in printed
    assert f"digest {result.digest}" in printed
    assert len(result.examples) == 2
    assert result.with_digest().digest == result.digest


def test_interrupted_selection_resumes_from_its_checkpoint_to_the_same_digest(
    finished: tuple[str, Path], reviews: Path, model: Path, tmp_path: Path
) -> None:
    checkpoint, output = tmp_path / "run.checkpoint", tmp_path / "result.json"
    slow = "--no-pair-cache"
    arguments = command(reviews, model, slow, "--checkpoint", str(checkpoint), "--output", str(output))
    with default_signals():
        process = start(arguments)
    with process:
        until(checkpoint.exists, "the first checkpoint", seconds=120)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert run(arguments).returncode == 0
    assert read_result(output).digest == read_result(finished[1]).digest


@pytest.mark.usefixtures("finished")
def test_classifier_of_a_selection_classifies_a_file(reviews: Path, model: Path, tmp_path: Path) -> None:
    classifier, output, predicted = tmp_path / "classifier.json", tmp_path / "result.json", tmp_path / "predicted.csv"
    report = tmp_path / "report.html"
    files = ("--output", str(output), "--classifier", str(classifier), "--report", str(report))
    done = run(command(reviews, model, *files))
    assert done.returncode == 0, done.stderr
    assert "from the pair cache" in done.stdout, "the run before scored all of this"
    texts = {example.row: example.text for example in read_examples(reviews)}
    again = report.with_name("again.html")
    write_report(again, read_result(output), reviews.name, report.stat().st_mtime, Texts(texts, texts))
    assert report.read_bytes() == again.read_bytes()
    assert f"{report} (a report, with texts of your rows)" in " ".join(done.stdout.split())
    assert Classifier.load(classifier) == read_result(output).classifier

    done = run(["classify", str(reviews), "--classifier", str(classifier), "--output", str(predicted)])

    assert done.returncode == 0, done.stderr
    scorer = open_model(str(model), dtype="float32", device="cpu", pair_cache_bytes=None).scorer
    with predicted.open(newline="") as file:
        labels = [row["label"] for row in csv.DictReader(file)]
    assert labels == list(Classifier.load(classifier).predict(list(texts.values()), scorer).labels)
