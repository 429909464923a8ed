"""`lens experiment`: help, refusals, estimates."""

import json
import signal
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from experiments.findings.finding import Finding, Table
from experiments.scales import LAPTOP, PAPER
from experiments.table.entries import make_entries
from lens_cli.application import create_application
from lens_cli.experiment.command import STUDIES
from lens_cli.experiment.options import read_given
from lens_cli.experiment.session import Session, running
from lens_cli.refusals import EXIT_INTERRUPTED, Refusal
from tests.dispositions import default_signals


def invoke(*words: str) -> Result:
    return CliRunner().invoke(create_application(), ["experiment", *words], env={"COLUMNS": "200"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [{"text": f"film {row}", "label": ("positive", "negative")[row % 2]} for row in range(60)]
    for split, part in (("train", rows[:40]), ("test", rows[40:])):
        (tmp_path / f"mr.{split}.jsonl").write_text("\n".join(map(json.dumps, part)))
    return tmp_path


@pytest.mark.parametrize("name", ["table", *STUDIES])
def test_help_of_an_experiment_is_shown(name: str) -> None:
    result = invoke(name, "--help")
    assert result.exit_code == 0
    assert f"Usage: lens experiment {name}" in result.output
    assert "--seeds" in result.output


def test_help_lists_the_experiments() -> None:
    output = invoke("--help").output
    assert [name for name in ("table", *STUDIES) if f" {name} " not in output] == []


def test_estimate_of_paper_table_needs_no_data() -> None:
    result = invoke("table", "--preset", "paper", "--datasets", "sst-2,trec", "--estimate", "--pace", "1000")
    assert result.exit_code == 0
    for entry in make_entries(PAPER).values():
        if entry.reads == "test":
            assert entry.name in result.output
    (total,) = (line.split() for line in result.output.splitlines() if line.strip().startswith("total"))
    cells, pairs, tokens, hours = (float(word.replace(",", "")) for word in total[1:])
    assert cells == 2 * 4 * 10 * (len(make_entries(PAPER)) - 1)
    assert pairs < tokens
    assert hours == pytest.approx(tokens / 1000 / 3600, abs=0.01)


def test_estimate_of_files_counts_their_rows(folder: Path) -> None:
    words = ("table", "--preset", "tiny", "--datasets", "mr", "--data", str(folder), "--estimate", "--methods", "lens")
    result = invoke(*words)
    assert result.exit_code == 0, result.output
    assert "–" in result.output
    assert not (folder / "results").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--preset", "desktop"), "is not one of laptop, paper, tiny"),
        (("--datasets", "tickets"), "'tickets' is not one of sst-2"),
        (("--methods", "lense"), "'lense' is not one of zero_shot"),
        (("--variant", "x:search.beam=1"), "search.beam"),
        (("--templates", "7"), "has 4 templates, counted from 0"),
    ],
)
def test_bad_option_is_refused_before_the_run(words: tuple[str, ...], message: str) -> None:
    result = invoke("table", "--estimate", *words)
    assert isinstance(result.exception, Refusal)
    assert message in str(result.exception)


def test_finding_is_written_to_the_output_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running(read_given(output=tmp_path)) as session:
        session.publish(Finding("study", "A study", (Table(("x",), ((1,),)),)))
    assert (tmp_path / "study.md").read_text().startswith("# A study")
    assert f"wrote {tmp_path / 'study.csv'}" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_session_says_how_to_resume(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], number: signal.Signals
) -> None:
    def stop(session: Session) -> None:
        session.observer.total = 9
        session.observer.recalled = 4
        signal.raise_signal(number)

    with default_signals(), pytest.raises(typer.Exit) as stopped, running(read_given(output=tmp_path)) as session:
        stop(session)
    assert stopped.value.exit_code == EXIT_INTERRUPTED
    assert f"Stopped. 4 of 9 cells are stored in {tmp_path / 'store'}. Repeat the command to resume." in (
        capsys.readouterr().err
    )


def test_session_writes_nothing_before_the_run(tmp_path: Path) -> None:
    session = Session(read_given(output=tmp_path / "results"))
    assert session.scale == LAPTOP
    assert list(tmp_path.iterdir()) == []
    assert session.laboratory.store.folder == tmp_path / "results/store"
