"""What `lens suggest` prints for a spreadsheet runs when it is pasted, with the rows and the cost that it showed."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from lens_engine.result import SelectionResult
from tests.e2e.lens_command import SMALL, run

ROWS = [
    (f"Zimmer {row} war {'schön; sehr groß' if row % 2 else 'zu laut, leider'}", "gut" if row % 2 else "schlecht")
    for row in range(150)
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LENS_CACHE_DIR", str(tmp_path / "cache"))
        patch.chdir(tmp_path)
        yield tmp_path


def figures_of(shown: str, names: Sequence[str]) -> list[str]:
    """The first figure of each line that begins with a name."""
    found = {
        name: line.removeprefix(name).split()[0]
        for line in map(str.strip, shown.splitlines())
        for name in names
        if line.startswith(f"{name} ")
    }
    return [found[name] for name in names]


def test_pasted_command_runs_with_the_rows_that_were_shown(model: Path, folder: Path) -> None:
    lines = ["Nr;Kommentar;Kategorie", *(f'{number};"{text}";{label}' for number, (text, label) in enumerate(ROWS))]
    (folder / "my file").write_text("\r\n".join(lines), "cp1252")

    suggested = run(["suggest", "my file", "--model", str(model), "--dtype", "float32"])
    assert suggested.returncode == 0, suggested.stderr
    pasted = suggested.stdout[suggested.stdout.index("lens select") :].replace("\\\n", "")
    _, *words = shlex.split(pasted.replace("$'", "'").replace("\\n", "\n"))  # shlex does not know the quotes $'…'
    words += ["--dtype", "float32"]

    done = run([*words, *SMALL])
    assert done.returncode == 0, done.stderr
    result = SelectionResult.model_validate_json((folder / "result.json").read_text())
    assert set(result.task.labels) == {"gut", "schlecht"}
    assert figures_of(suggested.stdout, ["labelled"]) == [str(result.counts.labelled)]

    _, *words = shlex.split(
        done.stdout[done.stdout.index("lens classify") :].splitlines()[0].replace("new.csv", "'my file'")
    )
    classified = run(words)
    assert classified.returncode in (0, 2), classified.stderr  # 2: a row without a text, or one too long for the model
    predicted = (folder / "predictions.csv").read_text("utf-8-sig")
    assert predicted.count("\n") >= len(ROWS)
