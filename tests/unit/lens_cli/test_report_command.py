import os
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import Result
from rich.console import Console
from typer.testing import CliRunner

from lens_cli.application import create_application
from lens_cli.refusals import Refusal
from lens_cli.select.options import SelectionFiles
from lens_cli.select.run import write_files
from lens_cli.subject_file import read_result
from lens_engine.show.report import ResultView, write_html
from tests.unit.lens_cli.select.test_selection_run import RUN
from tests.unit.lens_engine.show.reported import make_reported

MADE = datetime(2026, 3, 1, 12)
HTML = write_html(ResultView(make_reported(), name="result.json", made=MADE.date()))


@pytest.fixture
def result(tmp_path: Path) -> Path:
    path = tmp_path / "result.json"
    path.write_text(make_reported().model_dump_json())
    os.utime(path, (MADE.timestamp(), MADE.timestamp()))
    return path


def report(*arguments: str | Path) -> Result:
    return CliRunner().invoke(create_application(), ["report", *map(str, arguments)])


@pytest.mark.parametrize(
    ("arguments", "name"), [((), "result.html"), (("--output", "for the team.html"), "for the team.html")]
)
def test_report_is_written_where_the_user_expects_it(
    result: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], name: str
) -> None:
    monkeypatch.chdir(result.parent)
    done = report("result.json", *arguments)
    assert (done.exit_code, done.output) == (0, f"Written: {name}\n")
    assert (result.parent / name).read_text("utf-8") == HTML


def test_report_that_is_there_is_replaced_only_on_request(result: Path) -> None:
    made = result.with_suffix(".html")
    made.write_text("of lens select --report")
    assert str(report(result).exception) == f"{made} exists; name another file, or add --overwrite to replace it"
    assert made.read_text() == "of lens select --report"
    assert report(result, "--overwrite").exit_code == 0
    assert made.read_text("utf-8") == HTML


def test_report_is_headed_by_the_name_of_the_dataset_where_the_result_has_it(result: Path) -> None:
    write_files(SelectionFiles(output=result), make_reported(), replace(RUN, name="reviews.csv"), Console())
    assert report(result).exit_code == 0
    assert "<small>reviews.csv · smollm2" in result.with_suffix(".html").read_text("utf-8")
    assert read_result(result).with_digest().digest == make_reported().with_digest().digest


def test_file_that_is_no_result_is_refused(tmp_path: Path, result: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    for arguments, message in (
        ((tmp_path / "x.json",), "is no result of lens select --output"),
        ((tmp_path / "missing.json",), "does not exist"),
        ((result, "--output", tmp_path / "no" / "x.html"), "the folder"),
    ):
        refusal = report(*arguments).exception
        assert isinstance(refusal, Refusal)
        assert message in str(refusal)
