"""The analyses from the command line, with tiny random models."""

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from experiments.analyses.catalogue import ANALYSES
from lens_cli.application import create_application
from lens_cli.experiment.command import STUDIES
from lens_cli.refusals import Refusal
from lens_engine.testing import tiny_causal_lm

WORDS = ("fine", "poor", "long", "dull", "warm", "loud", "slow", "odd", "rich", "bleak")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the rows of a dataset and two models."""
    folder = tmp_path_factory.mktemp("analyses")
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


def invoke(name: str, folder: Path, output: Path, *words: str) -> Result:
    common = ("--preset", "tiny", "--data", str(folder), "--model", str(folder / "model-0"), "--no-pair-cache")
    words = (name, *common, "--device", "cpu", "--dtype", "float32", "--output", str(output), *words)
    return CliRunner().invoke(create_application(), ["experiment", *words], env={"COLUMNS": "200"})


def test_every_analysis_has_a_command() -> None:
    assert list(STUDIES) == list(ANALYSES)


@pytest.mark.parametrize("name", STUDIES)
def test_command_writes_page_tables_and_plot(name: str, folder: Path, tmp_path: Path) -> None:
    words = ("--to", str(folder / "model-1")) if name == "transfer" else ()

    result = invoke(name, folder, tmp_path, *words)

    assert result.exit_code == 0, result.output
    assert (tmp_path / f"{name}.md").read_text().startswith(f"# {ANALYSES[name].question}")
    assert (tmp_path / f"{name}.svg").exists()
    assert list(tmp_path.glob(f"{name}*.csv"))


def test_second_run_reads_every_cell_from_the_store(folder: Path, tmp_path: Path) -> None:
    invoke("order", folder, tmp_path)
    pages = {path: path.read_bytes() for path in tmp_path.glob("order*")}
    cells = {path: path.stat().st_mtime_ns for path in (tmp_path / "store" / "cells").iterdir()}

    invoke("order", folder, tmp_path)

    assert {path: path.read_bytes() for path in tmp_path.glob("order*")} == pages
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "store" / "cells").iterdir()} == cells


def test_analyses_share_selections_in_a_store(folder: Path, tmp_path: Path) -> None:
    invoke("order", folder, tmp_path)
    before = _count_selections(tmp_path)

    invoke("labels", folder, tmp_path)

    assert _count_selections(tmp_path) == before == 1


def test_transfer_without_another_model_is_refused(folder: Path, tmp_path: Path) -> None:
    result = invoke("transfer", folder, tmp_path)

    assert isinstance(result.exception, Refusal)
    assert "no other model was named" in str(result.exception)


def test_options_override_the_size_of_an_analysis(folder: Path, tmp_path: Path) -> None:
    result = invoke("pairs", folder, tmp_path, "--seeds", "0,1")

    assert isinstance(result.exception, Refusal)
    assert "these are 2" in str(result.exception)


def _count_selections(output: Path) -> int:
    cells = [json.loads(path.read_text())["cell"] for path in (output / "store" / "cells").iterdir()]
    return sum(cell["kind"] == "selection" for cell in cells)
