"""The commands with a model behind a server, over real HTTP."""

import csv
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lens_cli.application import create_application
from lens_cli.refusals import Refusal
from tests.endpoints.chat_double import ChatDouble
from tests.endpoints.double import MODEL, Double, HashBehind, serving

ROOT = Path(__file__).parents[3]
SMALL = [
    *("num_demonstrations=2", "search.sets=4", "classifier.fit_rows=12"),
    *("classifier.kind=label_probabilities", "filtering.candidates=24", "filtering.keep=8"),
    *("filtering.rounds=2", "filtering.initial_score_size=2", "filtering.max_score_size=6", "search.beam_width=2"),
    *("search.children=2", "search.iterations=1", "search.first_permutations=4", "search.halvings=0"),
]


@pytest.fixture
def double() -> Iterator[Double]:
    with serving(Double(HashBehind())) as started:
        yield started


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LENS_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "train.csv"
    path.write_text("\n".join(["text,label", *(f"film {row},{('bad', 'good')[row % 2]}" for row in range(80))]))
    return path


def served(double: Double) -> list[str]:
    return ["--model", f"vllm:{MODEL}@{double.url}"]


@pytest.fixture
def priced(double: Double, tmp_path: Path) -> list[str]:
    """The options of the same server in a file, with prices."""
    servers = {"ours": {"kind": "vllm", "url": double.url, "model": MODEL, "prices": {"input": 10, "output": 40}}}
    path = tmp_path / "servers.json"
    path.write_text(json.dumps(servers))
    return ["--endpoints", str(path), "--model", "ours"]


def test_hosted_model_is_asked_as_the_refusal_of_its_name_says(train: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    with pytest.raises(Refusal, match=r"--model .*\(docs/servers.md\)") as refused:
        lens(*select(train, ["--model", "gpt-4o"]))
    found = re.search(r"(--model .*) \(docs/servers.md\)", str(refused.value))
    assert found is not None
    with serving(ChatDouble()) as double:
        lens("suggest", str(train), *shlex.split(found[1].replace("https://api.openai.com", double.url)))
    assert {one["model"] for one in double.bodies} == {"gpt-4o"}
    assert double.keys == {"Bearer a-key"}


def select(train: Path, at: list[str], *more: str) -> list[str]:
    words = ["select", str(train), *at, "--verbalizer", "bad=B", "--verbalizer"]
    return [*words, "good=G", *(word for option in SMALL for word in ("--option", option)), *more]


def lens(*words: str) -> str:
    """Run a command in this process; what it prints, on one line."""
    outcome = CliRunner().invoke(create_application(), [*words], catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    return " ".join(outcome.output.split())


def test_selected_classifier_classifies_and_is_evaluated_at_the_same_server(
    double: Double, train: Path, tmp_path: Path, priced: list[str]
) -> None:
    files = [tmp_path / name for name in ("classifier.json", "result.json", "predictions.csv")]
    classifier, result, predictions = map(str, files)
    shown = lens(*select(train, priced, "--classifier", classifier, "--output", result, "--max-cost", "9"))
    assert f"Connecting to {double.url}" in shown
    paid = json.loads(Path(result).read_text())["cost"]["paid"]
    assert paid["usd"] > 0
    assert f" tokens for {paid['usd']:.2f} USD" in shown
    at = ["--endpoints", priced[1]]  # the model is that of the classifier
    lens("classify", str(train), "--classifier", classifier, "--output", predictions, *at)
    with Path(predictions).open(newline="") as file:
        assert {row["label"] for row in csv.DictReader(file)} <= {"good", "bad"}
    double.prompts.clear()
    lens("classify", str(train), "--classifier", classifier, "--output", predictions, "--overwrite", *at)
    assert [prompt for prompt in double.prompts if b"Question:" not in bytes(prompt[1:])] == [], "answers are kept"
    lens("evaluate", result, str(train), *at)
    with pytest.raises(Refusal, match="behind a server; name it: a name of --endpoints"):
        lens("classify", str(train), "--classifier", classifier, "--output", predictions, "--overwrite")
    double.version = "0.33.0"
    with pytest.raises(Refusal, match="another model, version or tokenizer is another revision"):
        lens("classify", str(train), "--classifier", classifier, "--output", predictions, "--overwrite", *at)


def test_classification_stops_and_goes_on(double: Double, train: Path, tmp_path: Path, priced: list[str]) -> None:
    classifier, predictions = str(tmp_path / "classifier.json"), str(tmp_path / "predictions.csv")
    lens(*select(train, served(double), "--classifier", classifier))
    train.write_text(train.read_text().replace("film", "book"))  # the answers of judged rows are on disk
    double.prompts.clear()
    words = ["classify", str(train), "--classifier", classifier, "--output", predictions, *priced]
    with pytest.raises(Refusal, match="the limit on the cost is reached") as refused:
        lens(*words, "--max-cost", "0.01")
    assert "raise --max-cost and repeat the command" in refused.value.details[0]
    lens(*words, "--max-cost", "1")
    asked = [prompt for prompt in double.prompts if b"Question:" not in bytes(prompt[1:])]
    assert 0 < len(asked) == len(set(asked))


def test_suggestion_says_requests_tokens_money_and_time(double: Double, train: Path, priced: list[str]) -> None:
    shown = lens("suggest", str(train), *priced)
    assert all(figure in shown for figure in ("requests", "tokens sent", " USD", "usual time"))
    assert "The speed was measured on a small sample, which took" in shown
    double.prompts.clear()
    lens("suggest", str(train), *priced)
    counted = [prompt for prompt in double.prompts if b"Question:" not in bytes(prompt[1:])]
    assert len(counted) == len(set(counted))


def start(*words: str) -> subprocess.Popen[str]:
    code = (
        "import sys, lens_cli\n"
        "try:\n    lens_cli.main()\n"
        "except SystemExit as end:\n    code = end.code\n"
        "print('torch' in sys.modules, 'transformers' in sys.modules)\n"
        "sys.exit(code)"
    )
    command = [sys.executable, "-c", code, *words]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_interrupt_ends_a_run_within_seconds_with_the_best_so_far(double: Double, train: Path, tmp_path: Path) -> None:
    double.seconds = 0.3
    result = tmp_path / "result.json"
    run = start(*select(train, served(double), "--output", str(result), "--option", "search.iterations=50"))
    while double.num_prompts < 520:  # the first permutations are judged, and the search goes on
        assert run.poll() is None, run.communicate()
        time.sleep(0.02)
    os.kill(run.pid, signal.SIGINT)
    asked = time.monotonic()
    shown, errors = run.communicate(timeout=60)
    assert run.returncode == 130, errors
    assert shown.splitlines()[-1] == "False False", "a selection at a server imports no torch"
    assert time.monotonic() - asked < 30
    assert json.loads(result.read_text())["stop_reason"] == "cancelled"
    assert "Partial: the run was stopped" in " ".join(shown.split())
