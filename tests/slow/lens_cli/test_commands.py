"""`lens`: help, and refusals that tell the user what to do."""

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from lens_cli.application import create_application
from lens_engine import __version__
from tests.e2e.lens_command import run

ROOT = Path(__file__).parents[3]
COMMANDS = (
    *("suggest", "select", "classify", "label-next", "evaluate", "report", "export"),
    *("demo", "up", "serve", "worker", "migrate", "keys"),
)
TASK = ("--template", "{text} It was {label}.", "--verbalizer", "positive=great", "--verbalizer", "negative=terrible")


def lens(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command in this process."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"COLUMNS": "200", "HOME": "/nonexistent", **environment}.items():
            patch.setenv(name, value)
        return run([*arguments])


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    path = tmp_path / "reviews.csv"
    rows = [f"film {row},{'positive' if row % 2 else 'negative'}" for row in range(80)]
    path.write_text("\n".join(["text,label", *rows]))
    return path


def test_help_lists_every_command() -> None:
    result = CliRunner().invoke(create_application(), ["--help"])
    assert result.exit_code == 0
    assert [command for command in COMMANDS if f" {command} " not in result.output] == []


def words_of_help(command: Any) -> set[str]:
    """Every option of a command, and every word of the help texts."""
    options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    texts = [" ".join([*parameter.opts, *parameter.secondary_opts, parameter.help or ""]) for parameter in options]
    return {word for text in texts for word in text.replace("`", "").split()} - {"…"}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_word_is_cut_in_the_help_of_a_narrow_terminal(command: str) -> None:
    application = create_application()

    shown = CliRunner().invoke(application, [command, "--help"], env={"COLUMNS": "80"}).output

    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    words = words_of_help(typer.main.get_group(application).commands[command])
    assert words - set(shown.replace("│", " ").split()) == set()


def test_version_is_shown() -> None:
    assert CliRunner().invoke(create_application(), ["--version"]).output == f"lens {__version__}\n"


def test_help_imports_no_heavy_package() -> None:
    script = (
        "import sys\nfrom lens_cli.application import create_application\n"
        f"for command in ([], *([name] for name in {COMMANDS!r})):\n"
        "    try:\n        create_application()([*command, '--help'])\n"
        "    except SystemExit as end:\n        assert end.code == 0\n"
        "heavy = {'torch', 'transformers', 'scipy', 'sklearn', 'pyarrow', 'pandas', 'ray', 'sqlalchemy', 'fastapi'}\n"
        "print('loaded:', *sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].strip() == "loaded:"


def test_select_lists_the_faults_of_both_files(reviews: Path) -> None:
    test = reviews.with_name("test.csv")
    test.write_text(reviews.read_text().replace("film", "play") + "\n\0,positive" * 20)
    reviews.write_text(reviews.read_text() + "\na last one,\0" * 20)
    done = lens("select", str(reviews), *TASK, "--test", str(test))
    assert done.returncode == 2
    assert done.stderr.splitlines()[0].startswith(
        "error: 20 faults; the first: 20 rows cannot be used; the first: line 82: `label` holds a NUL"
    )
    assert done.stderr.splitlines()[1] == "  where: dataset.label"
    assert "  test.text: line 82: `text` holds a NUL" in done.stderr


def test_select_prints_dataset_warnings_on_stderr(reviews: Path) -> None:
    reviews.write_text(reviews.read_text().replace("text,label", "text,label\n\n"))
    test = reviews.with_name("test.csv")
    test.write_text(reviews.read_text().replace("film", "play"))
    done = lens("select", str(reviews), *TASK, "--test", str(test), "--model", "./nothing-here")
    assert done.returncode == 2
    assert [line for line in done.stderr.splitlines() if line.startswith("note: ")][:-1] == [
        "note: dataset: 2 blank rows were skipped and are not counted in row numbers",
        "note: test: 2 blank rows were skipped and are not counted in row numbers",
    ]
    assert "note:" not in done.stdout


@pytest.mark.parametrize("wrong", [("--text-column", "Body"), ("--model", "./nothing-here")])
def test_refusal_of_select_does_not_wait_for_torch(wrong: tuple[str, str], reviews: Path) -> None:
    script = (
        "import sys\nfrom lens_cli.application import main\n"
        "try:\n    main()\nfinally:\n    print('loaded:', *{'torch', 'transformers'} & set(sys.modules))"
    )
    words = ["select", str(reviews), *TASK, "--preset", "quick", *wrong]
    done = subprocess.run([sys.executable, "-c", script, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert wrong[1] in done.stderr
    assert (done.returncode, done.stdout.strip()) == (2, "loaded:")


def test_bad_setting_is_named_without_its_value() -> None:
    done = lens("migrate", LENS_DATABASE_URL="mysql://me:secret@host/lens")
    assert done.returncode == 2
    assert "LENS_DATABASE_URL" in done.stderr
    assert "secret" not in done.stderr


def test_migrate_without_database_says_so(tmp_path: Path) -> None:
    done = lens("migrate", LENS_DATABASE_URL=f"postgresql://lens@/lens?host={tmp_path}")
    assert done.returncode == 1
    assert "the database does not answer" in done.stderr
    assert "Traceback" not in done.stderr


def test_select_tells_all_that_is_wrong_with_a_messy_file(tmp_path: Path) -> None:
    rows = [f"text {number},{('Refund', 'refund', 'order ', 'refund')[number % 4]}" for number in range(120)]
    rows += [f"order {number},order" for number in range(40)] + ["one,rare"]
    path = tmp_path / "messy.csv"
    path.write_text("\ufeffText,Label\n" + "\n".join(rows), encoding="utf-8")

    done = lens("select", str(path), "--preset", "quick")

    assert done.returncode == 2
    assert done.stderr.startswith("error: label 'rare' has 1 row; the minimum is 2 rows per label: one to show")
    assert "add --option labels.rare=drop to leave out 1 of 3 labels" in done.stderr
    last = done.stderr.splitlines()[-1].removeprefix("  this command has the options: ")
    assert shlex.split(last) == [
        *("lens", "select", str(path), "--preset", "quick"),
        *("--option", "labels.rare=drop", "--classifier", "classifier.json"),
    ]
    mended = lens(*shlex.split(last)[1:-1], str(tmp_path / "classifier.json"), "--model", "./none")
    assert mended.stderr.splitlines()[-1] == "  where: --model"
    assert "'Refund' (30) as 'refund'; 'order ' (30) as 'order'" in mended.stderr
    assert "read texts from 'Text' (" in mended.stderr
    assert "labels from 'Label' (" in mended.stderr


def test_select_says_that_it_will_write_no_file(reviews: Path) -> None:
    small = ("--preset", "quick", "--model", "./none")
    note = "note: the result is not kept; add --output result.json, or --classifier classifier.json"
    assert note in lens("select", str(reviews), *small).stderr.splitlines()
    kept = ("--output", str(reviews.with_name("result.json")))
    assert note not in lens("select", str(reviews), *small, *kept).stderr
