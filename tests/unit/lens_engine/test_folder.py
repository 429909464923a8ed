"""Exports of a prompt that finds demonstrations for each input: the folder has it, other formats its fixed form."""

import io
import json
import runpy
import zipfile
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lens_cli.application import create_application
from lens_cli.refusals import Refusal
from lens_engine.errors import InvalidConfig
from lens_engine.exports import FORMATS, FormatName, export_folder, export_support_examples
from lens_engine.result import SelectionResult
from tests.formed import take_form
from tests.unit.lens_cli.results import CLASSIFIER, make_result

TEXT = "a dull film, and long"
NOTE = (
    "The best prompt has the form nearest 2 (right for 91 % of 200 test texts), which this format cannot hold. This is "
    "its fixed form (right for 91 % of 200 test texts). The format folder has the best prompt."
)


def make(kind: Any = "nearest") -> SelectionResult:
    result = make_result(task=CLASSIFIER.task)
    return result if kind == "fixed" else take_form(result, kind)


def write(result: SelectionResult, folder: Path) -> Path:
    (folder / "result.json").write_text(result.model_dump_json())
    return folder / "result.json"


def run_export(*words: str | Path) -> Any:
    return CliRunner().invoke(create_application(), ["export", *map(str, words)])


@pytest.mark.parametrize("kind", ["fixed", "nearest", "fixed+nearest"])
def test_folder_renders_the_prompt_of_the_result(kind: Any, tmp_path: Path) -> None:
    result, output = make(kind), tmp_path / "prompt"
    shown = run_export(write(result, tmp_path), "--format", "folder", "--output", output)

    assert (shown.exit_code, shown.output) == (0, "")
    assert {path.name: path.read_bytes() for path in output.iterdir()} == export_folder(result)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    module = runpy.run_path(str(output / "prompt.py"))
    rendered = result.render(TEXT)
    assert module["render"](TEXT) == rendered.text
    assert [one["row"] for one in module["find"](TEXT)] == [one.example.row for one in rendered.found]


def test_archive_has_the_files_of_the_folder_and_always_the_same_bytes() -> None:
    result = make()
    content = export_support_examples(result, "folder")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == export_folder(result)
    assert content == export_support_examples(result, "folder")


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_other_formats_have_the_fixed_form_and_say_so_in_a_comment(format: FormatName, tmp_path: Path) -> None:
    content = export_support_examples(make(), format).decode()
    fixed = export_support_examples(make("fixed"), format).decode()
    has_comments = format in ("json", "markdown")
    assert (NOTE in content) == has_comments
    assert "fixed form" not in fixed
    if format == "json":
        loaded = json.loads(content)
        assert loaded.pop("note") == NOTE
        assert loaded["support_examples"]["examples"] == json.loads(fixed)["support_examples"]["examples"]
    else:
        assert [line for line in content.splitlines() if NOTE not in line and line] == [
            line for line in fixed.splitlines() if line
        ]
    shown = run_export(write(make(), tmp_path), "--format", format, "--output", tmp_path / "file")
    assert NOTE in " ".join(shown.stderr.split())


@pytest.mark.parametrize(("name", "message"), [("taken", "is no empty folder"), ("taken/file", "is no empty folder")])
def test_folder_that_holds_something_is_kept(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").write_text("mine")
    refusal = run_export(write(make(), tmp_path), "--format", "folder", "--output", tmp_path / name).exception
    assert isinstance(refusal, Refusal)
    assert message in str(refusal)
    assert (tmp_path / "taken" / "file").read_text() == "mine"


def test_empty_folder_is_filled_and_standard_output_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    path = write(make(), tmp_path)
    assert run_export(path, "--format", "folder", "--output", tmp_path / "empty").exit_code == 0
    assert (tmp_path / "empty" / "prompt.py").exists()
    refusal = run_export(path, "--format", "folder").exception
    assert isinstance(refusal, Refusal)
    assert "name one by --output" in str(refusal)


def test_folder_without_its_pool_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="its pool is missing"):
        export_folder(make().model_copy(update={"pool": None}))
