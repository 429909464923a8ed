"""The commands of the experiments, with tiny random models."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lab.experiments.command import EXIT_FAULTY, make_parser, read_scale
from lab.experiments.scales import LAPTOP
from lab.experiments.table.__main__ import main as make_table
from lab.experiments.table.entries import make_entries
from lens_engine.testing import tiny_causal_lm

WORDS = ("fine", "poor", "long", "dull", "warm", "loud", "slow", "odd", "rich", "bleak")
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the rows of a dataset and two models."""
    folder = tmp_path_factory.mktemp("commands")
    rows = [
        {"text": f"{first} {second}", "label": ("positive", "negative")[row % 2]}
        for row, (first, second) in enumerate((first, second) for first in WORDS for second in WORDS)
    ]
    for split, part in (("train", rows[:70]), ("test", rows[70:])):
        (folder / f"sst-2.{split}.jsonl").write_text("\n".join(map(json.dumps, part)))
    for seed in (0, 1):
        (folder / f"model-{seed}").mkdir()
        tiny_causal_lm("gpt2", seed=seed).save(folder / f"model-{seed}")
    return folder


def common(folder: Path, output: Path) -> list[str]:
    words = ["--preset", "tiny", "--data", str(folder), "--model", str(folder / "model-0"), "--no-pair-cache"]
    return [*words, "--device", "cpu", "--dtype", "float32", "--output", str(output)]


def test_table_has_a_line_for_every_method_of_the_paper(folder: Path, tmp_path: Path) -> None:
    make_table(common(folder, tmp_path))

    page = (tmp_path / "table.md").read_text()
    for entry in make_entries(read_scale(make_parser("table", "").parse_args(common(folder, tmp_path)))).values():
        assert f"| {entry.name} |" in page
    assert len(list((tmp_path / "store/evidence").iterdir())) == 1


def test_finished_cells_are_computed_once(folder: Path, tmp_path: Path) -> None:
    def read() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in (tmp_path / "store/cells").iterdir()}

    words = [*common(folder, tmp_path), "--methods", "lens,random"]
    make_table(words)
    pages, before = {path: path.read_bytes() for path in tmp_path.glob("table*")}, read()
    make_table(words)

    assert read() == before
    assert {path: path.read_bytes() for path in tmp_path.glob("table*")} == pages


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
        make_table([*common(folder, tmp_path), *words])

    assert ended.value.code == EXIT_FAULTY
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("seeds", ["a", "-1", "1.5"])
def test_seed_that_is_not_a_number_is_refused(seeds: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        make_parser("table", "").parse_args([f"--seeds={seeds}"])
    assert "--seeds" in capsys.readouterr().err


def test_options_override_the_preset() -> None:
    options = ("splits.test=7", "search.beam_width=2", "search.first_permutations=null")
    words = ["--datasets", "mr, trec", "--seeds", "4,5", *(word for one in options for word in ("--option", one))]
    scale = read_scale(make_parser("table", "").parse_args(words))

    assert (scale.datasets, scale.seeds, scale.model) == (("mr", "trec"), (4, 5), LAPTOP.model)
    assert scale.options["splits"] == {**LAPTOP.options["splits"], "test": 7}
    assert scale.options["search"] == {**LAPTOP.options["search"], "beam_width": 2, "first_permutations": None}


@pytest.mark.parametrize("module", ["lab.experiments.table", "lab.experiments.prompts"])
def test_commands_show_their_help(module: str) -> None:
    run = subprocess.run([sys.executable, "-m", module, "--help"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert f"python -m {module}" in run.stdout
