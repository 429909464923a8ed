"""What `lens suggest` prints for a file runs when it is pasted, with the rows and the cost that it showed."""

import csv
import io
import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from lens_engine.result import SelectionResult
from lens_engine.testing import tiny_causal_lm
from tests.e2e.lens_command import SMALL, run

Row = tuple[str, str]
ROWS: list[Row] = [
    (f"Zimmer {row} war {'schön; sehr groß' if row % 2 else 'zu laut, leider'}", "gut" if row % 2 else "schlecht")
    for row in range(150)
]


def table(
    rows: Sequence[Sequence[str]], encoding: str = "utf-8", delimiter: str = ",", begin: str = "", end: str = "\r\n"
) -> bytes:
    file = io.StringIO()
    file.write(begin)
    csv.writer(file, delimiter=delimiter, lineterminator=end).writerows(rows)
    return file.getvalue().encode(encoding)


def lines(rows: Sequence[Row], encoding: str = "utf-8") -> bytes:
    return "".join(json.dumps({"text": t, "label": k}, ensure_ascii=False) + "\n" for t, k in rows).encode(encoding)


def parquet(rows: Sequence[Row]) -> bytes:
    file = io.BytesIO()
    columns = zip(*rows, strict=True)
    pyarrow.parquet.write_table(pyarrow.table(dict(zip(("Text", "Label"), columns, strict=True))), file)
    return file.getvalue()


USUAL = ("text", "label")
GAPS = [(text, "" if row % 15 == 3 else label) for row, (text, label) in enumerate(ROWS)]
SPELLED = [(text, f" {label.upper()}" if row % 7 == 0 else label) for row, (text, label) in enumerate(ROWS)]
LONG = [(text + " und " * 4_000 if row == 40 else text, label) for row, (text, label) in enumerate(ROWS)]
FILES = {
    "plain": table([USUAL, *ROWS]),
    "german spreadsheet": table(
        [("Nr", "Kommentar", "Kategorie"), *((str(n), *one) for n, one in enumerate(ROWS))], "cp1252", ";"
    ),
    "unicode text of a spreadsheet": table([("Kommentar", "Kategorie"), *ROWS], "utf-16", "\t"),
    "separator line and byte order mark": table([USUAL, *ROWS], "utf-8-sig", ";", "sep=;\r\n"),
    "pipes, lone carriage returns, other names": table([("note", "sort"), *ROWS], delimiter="|", end="\r"),
    "rows without a label": table([USUAL, *GAPS]),
    "spellings and a rare label": table([USUAL, *SPELLED, ("einmalig", "selten")]),
    "one long text": table([USUAL, *LONG], "cp1252"),
    "jsonl": lines(ROWS, "cp1252"),
    "parquet": parquet(ROWS),
}
USUAL_FILES = ("german spreadsheet",)
"""The other kinds are tried nightly."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_causal_lm("llama").save(tmp_path_factory.mktemp("model"))


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


@pytest.mark.parametrize("kind", USUAL_FILES)
def test_pasted_command_runs_with_the_rows_and_the_cost_that_were_shown(kind: str, model: Path, folder: Path) -> None:
    check_pasted_command(kind, model, folder)


def check_pasted_command(kind: str, model: Path, folder: Path) -> None:
    (folder / "my file").write_bytes(FILES[kind])

    suggested = run(["suggest", "my file", "--model", str(model), "--dtype", "float32"])
    assert suggested.returncode == 0, suggested.stderr
    _, *words = shlex.split(suggested.stdout[suggested.stdout.index("lens select") :].replace("\\\n", ""))
    words += ["--dtype", "float32"]

    estimated = run([*words, "--estimate"])
    assert estimated.returncode == 0, estimated.stderr
    splits = ["test", "validation", "confirmation", "score set", "candidates"]
    assert figures_of(suggested.stdout, splits) == figures_of(estimated.stdout, splits)
    assert figures_of(suggested.stdout, ["tokens"])[0] in estimated.stdout

    done = run([*words, *SMALL])
    assert done.returncode == 0, done.stderr
    result = SelectionResult.model_validate_json((folder / "result.json").read_text())
    assert set(result.task.labels) == {"gut", "schlecht"}

    _, *words = shlex.split(
        done.stdout[done.stdout.index("lens classify") :].splitlines()[0].replace("new.csv", "'my file'")
    )
    classified = run(words)
    assert classified.returncode in (0, 2), classified.stderr  # 2: a row without a text, or one too long for the model
    predicted = (folder / "predictions.csv").read_text("utf-8-sig")
    assert predicted.count("\n") >= len(ROWS)
