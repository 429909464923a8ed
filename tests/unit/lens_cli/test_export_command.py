"""`lens export`: a result in, a file of another tool out."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lens_cli.application import create_application
from lens_cli.refusals import Refusal
from lens_engine.prompt.record import TaskRecord
from lens_engine.prompt.template import Task
from lens_engine.show.exports import export_support_examples
from tests.unit.lens_cli.results import make_result


@pytest.fixture
def result(tmp_path: Path) -> Path:
    task = TaskRecord.of(Task("{text} It was {label}.", {"positive": "great", "negative": "terrible"}))
    path = tmp_path / "result.json"
    path.write_text(make_result().model_copy(update={"task": task}).model_dump_json())
    return path


def test_output_is_what_the_library_writes(result: Path, tmp_path: Path) -> None:
    shown = CliRunner().invoke(create_application(), ["export", str(result)])
    assert shown.stdout_bytes == export_support_examples(result, "text")
    assert shown.stderr == ""
    output = tmp_path / "prompt.json"
    written = CliRunner().invoke(
        create_application(), ["export", str(result), "--format", "openai-chat", "--output", str(output)]
    )
    assert (written.exit_code, written.stdout) == (0, "")
    assert output.read_bytes() == export_support_examples(result, "openai-chat")
    assert "does not get the prompt that was evaluated" in written.stderr
    assert json.loads(output.read_bytes())["messages"][-1]["content"] == "{text}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--format", "yaml"), "there is no format 'yaml'; take json, text"),
        (("--use", "argmax"), "there is no use 'argmax'"),
        (("--output", "no/folder.txt"), "the folder no does not exist"),
    ],
)
def test_what_cannot_be_used_is_refused(result: Path, arguments: tuple[str, ...], message: str) -> None:
    refusal = CliRunner().invoke(create_application(), ["export", str(result), *arguments]).exception
    assert isinstance(refusal, Refusal)
    assert message in str(refusal)


def test_other_file_is_no_result(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"a": 1}')
    refusal = CliRunner().invoke(create_application(), ["export", str(tmp_path / "x.json")]).exception
    assert isinstance(refusal, Refusal)
    assert "is no result of lens select --output" in str(refusal)
