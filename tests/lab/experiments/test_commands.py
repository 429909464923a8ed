"""The commands of the experiments, with a tiny random model."""

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from lab.experiments.entries import make_entries
from lab.experiments.few_rows import main as measure_few_rows
from lab.experiments.table import main as make_table
from lens_engine.config import USES
from tests.lab.experiments.experiment_doubles import TINY
from tests.tiny_models import tiny_causal_lm

WORDS = ("fine", "poor", "long", "dull", "warm", "loud", "slow", "odd", "rich", "bleak")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the rows of a dataset and a model."""
    folder = tmp_path_factory.mktemp("commands")
    texts = [f"{first} {second}{end}" for first in WORDS for second in WORDS for end in ".!"]
    rows = [{"text": text, "label": ("positive", "negative")[row // 2 % 2]} for row, text in enumerate(texts)]
    for split, part in (("train", rows[:160]), ("test", rows[160:])):
        (folder / f"sst-2.{split}.jsonl").write_text("\n".join(map(json.dumps, part)))
    tiny_causal_lm("gpt2").save(folder / "model")
    return folder


def run(folder: Path, output: Path, *words: str) -> None:
    common = ["--data", str(folder), "--model", str(folder / "model"), "--output", str(output), "--device", "cpu"]
    usual = ["--datasets", "sst-2", "--seeds", "0", "--dtype", "float32", "--no-pair-cache"]
    make_table([*common, *usual, *words], {"tiny": TINY})


def test_table_has_a_line_for_every_method_and_is_computed_once(folder: Path, tmp_path: Path) -> None:
    def read() -> dict[Path, tuple[bytes, int]]:
        return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in (tmp_path / "store").iterdir()}

    run(folder, tmp_path)
    page, before = (tmp_path / "table.md").read_bytes(), read()
    run(folder, tmp_path)

    assert (len(before), read()) == (20, before)
    assert (tmp_path / "table.md").read_bytes() == page
    for entry in make_entries(TINY.many_rows).values():
        assert f"| {entry.name} |" in page.decode()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--option", "search.iterations"], "'search.iterations' is not NAME=VALUE"),
        (["--option", "search.wide=2"], "search.wide"),
        (["--datasets", "nothing"], "'nothing' is not one of sst-2"),
        (["--templates", "9"], "there is no 9"),
    ],
)
def test_fault_of_the_input_is_one_line(
    words: list[str], message: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(folder, tmp_path, *words)

    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1


def test_few_rows_are_measured_once_and_beside_what_was_expected(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "few.csv"

    def measure(draws: str) -> list[dict[str, str]]:
        common = ["--data", str(folder), "--model", str(folder / "model"), "--output", str(path), "--device", "cpu"]
        measure_few_rows([*common, "--datasets", "sst-2", "--rows", "20", "--draws", draws])
        return list(csv.DictReader(path.read_text().splitlines()))

    (first, again, more) = (measure(draws) for draws in ("1", "1", "2"))
    assert again == first == more[: len(first)]
    assert [line["draw"] for line in more] == ["0"] * len(first) + ["1"] * (len(more) - len(first))
    shown = Counter(
        (line["contender"], line["use"]) for line in first if line["contender"] not in ("classifier", "first")
    )
    prompts = [(name, use) for name in ("prompt", "zero_shot", "random") for use in USES]
    assert shown == Counter([*prompts, ("words", ""), ("embeddings", "")])
    chosen = [line for line in first if line["contender"] in ("prompt", "classifier", "first")]
    assert len(chosen) == 4
    assert [line for line in first if line["estimate"]] == chosen
    for line in first:
        assert (line["rows"], line["test_rows"]) == ("20", "40")
    for line in chosen:
        assert float(line["low"]) <= float(line["estimate"]) <= float(line["high"])
