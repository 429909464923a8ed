"""Files with the quirks of public datasets go all the way: suggestion, selection, answers, export, page."""

import csv
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from lens_engine.result import SelectionResult
from tests.e2e.lens_command import SMALL, run
from tests.e2e.stack import Stack
from tests.e2e.test_files_of_any_kind import folder, model
from tests.unit.lens_engine.reading.quirky_files import QUIRKS, write_quirky

LABELS = ("billing", "delivery", "account")
ROWS = [(f"Message number {number}, and please answer", LABELS[number % 3]) for number in range(150)]


@pytest.mark.parametrize("name", QUIRKS)
def test_command_goes_from_the_file_to_a_prompt(name: str, model: Path, folder: Path) -> None:
    labels = set(QUIRKS[name][1] or LABELS)
    (folder / "file").write_bytes(write_quirky(name, ROWS))

    suggested = run(["suggest", "file", "--model", str(model), "--dtype", "float32"])
    assert suggested.returncode == 0, suggested.stderr
    words = shlex.split(suggested.stdout[suggested.stdout.index("lens select") :].replace("\\\n", ""))[1:]
    done = run([*words, "--dtype", "float32", *SMALL])
    assert done.returncode == 0, done.stderr
    result = SelectionResult.model_validate_json((folder / "result.json").read_text())
    assert set(result.task.labels) == labels

    line = done.stdout[done.stdout.index("lens classify") :].splitlines()[0]
    classified = run(shlex.split(line.replace("new.csv", "file"))[1:])
    assert classified.returncode == 0, classified.stderr
    with (folder / "predictions.csv").open(encoding="utf-8-sig", newline="") as file:
        assert len(list(csv.reader(file))) == len(ROWS) + 1

    exported = run(["export", "result.json", "--output", "prompt.txt"])
    assert exported.returncode == 0, exported.stderr
    examples = result.support_examples[0].examples
    assert all(one.text in (folder / "prompt.txt").read_text("utf-8") for one in examples)


@pytest.mark.parametrize("name", QUIRKS)
def test_page_offers_to_start_with_the_file(name: str, lens: Stack) -> None:
    headers = {"HX-Request": "true"}
    files = {"dataset": ("file", write_quirky(name, ROWS))}
    stored = lens.client.post("/pages/datasets", files=files, headers=headers)
    assert stored.status_code in (200, 201, 204), stored.text
    dataset = stored.headers["hx-redirect"].rpartition("=")[2]
    form = lens.client.get(f"/pages/suggestion?dataset={dataset}", headers=headers)
    assert form.status_code == 200, form.text
    assert '<button class="act">' in form.text
    assert all(label in form.text for label in QUIRKS[name][1] or LABELS)
