"""One exit code for one kind of fault: 2 invalid input, 1 the machine or the program, 130 a stop."""

import errno
import os
import socket
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from lens_cli.refusals import Refusal, check_output, refusing, show_refusal
from lens_engine import errors
from tests.e2e.lens_command import run

TASK = ["--template", "{text} It was {label}.", "--verbalizer", "positive=great", "--verbalizer", "negative=terrible"]
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def lens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """The command in this process, in an empty folder: its exit code, and what it wrote to stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LENS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("LENS_REQUIRE_KEYS", "false")
    Path("rows.csv").write_text(
        "\n".join(["text,label", *(f"film {row},{'positive' if row % 2 else 'negative'}" for row in range(80))])
    )
    Path("folder").mkdir()
    Path("note.txt").write_text("a note")

    def run_words(*words: str) -> tuple[int, str]:
        done = run([*words])
        return done.returncode, done.stderr

    return run_words


SELECT = ["select", "rows.csv", *TASK, "--preset", "quick"]
CLASSIFY = ["classify", "rows.csv", "--classifier", "note.txt", "--output", "out.csv"]
INVALID: list[tuple[str, list[str], str]] = [
    ("no such command", ["chose"], "No such command"),
    ("missing file", ["select", "nope.csv", *TASK], "error: nope.csv does not exist\n  where: dataset\n"),
    (
        "folder for a file",
        ["select", "folder", *SELECT[2:]],
        "error: the folder holds nothing; name a file, or a folder with a file",
    ),
    (
        "file for a folder",
        ["select", "note.txt/rows.csv", *SELECT[2:]],
        "error: note.txt/rows.csv does not exist: a part of the path is a file, not a folder\n",
    ),
    ("file without rows", ["select", "note.txt", *SELECT[2:]], "error: "),
    ("wrong template", [*SELECT, "--template", "no slots"], "where: template"),
    ("blank instruction", [*SELECT, "--instruction", " "], "where: instruction"),
    ("unknown preset", [*SELECT, "--preset", "fast"], "'fast' is not one of"),
    ("unknown option", [*SELECT, "--option", "beam_width=3"], "did you mean search.beam_width?"),
    ("option out of range", [*SELECT, "--option", "seed=-1"], "seed: input should be"),
    ("unknown model", [*SELECT, "--model", "./nowhere"], "where: --model"),
    ("model that is no folder", [*SELECT, "--model", "./note.txt"], "where: --model"),
    ("unknown model of the service", ["up", "--model", "./nowhere"], "where: --model"),
    ("unknown device", [*SELECT, "--device", "gpu"], "device 'gpu' is not a torch device"),
    ("unknown number format", [*SELECT, "--dtype", "int8"], "dtype 'int8' is not one of"),
    ("output without a folder", [*SELECT, "--output", "nope/out.json"], "error: the folder nope does not exist"),
    ("output that is a folder", [*SELECT, "--output", "folder"], "error: folder is a folder; name a file"),
    ("output that is an input", [*SELECT, "--output", "rows.csv"], "the output is the file rows.csv itself"),
    ("two files in one", [*SELECT, "--output", "a", "--classifier", "x/../a"], "two options name the file a; name two"),
    ("rows as figures", ["evaluate", "note.txt", "rows.csv", "--output", "rows.csv"], "the file rows.csv itself"),
    ("classes over texts", [*CLASSIFY, "--overwrite", "--output", "rows.csv"], "the file rows.csv itself"),
    ("texts over rows", ["label-next", "note.txt", "--with", "rows.csv", "-o", "rows.csv"], "the file rows.csv itself"),
    ("export over its result", ["export", "note.txt", "--format", "text", "--output", "note.txt"], "note.txt itself"),
    ("report over its result", ["report", "note.txt", "--output", "note.txt", "--overwrite"], "note.txt itself"),
    ("checkpoint without a folder", [*SELECT, "--checkpoint", "nope/c"], "the folder nope does not exist"),
    ("damaged checkpoint", [*SELECT, "--checkpoint", "note.txt"], "where: --checkpoint"),
    ("classifier that is none", CLASSIFY, "note.txt"),
    ("rows for a classifier", [*CLASSIFY, "--classifier", "rows.csv"], "rows.csv is no classifier file; give the file"),
    ("missing classifier", [*CLASSIFY, "--classifier", "nope.json"], "error: nope.json does not exist\n"),
    ("missing input", ["classify", "nope.csv", *CLASSIFY[2:]], "error: "),
    ("output of no format", [*CLASSIFY, "--output", "out.xyz"], "cannot tell the format"),
    (
        "hosted model",
        [*SELECT, "--model", "gpt-4o"],
        "--model openai-chat:gpt-4o@https://api.openai.com/v1 --endpoint-",
    ),
    (
        "hosted model with its vendor",
        [*SELECT, "--model", "openai:gpt-4.1-mini"],
        "--model openai-chat:gpt-4.1-mini@https://api.openai.com/v1 --endpoint-key-variable OPENAI_API_KEY ",
    ),
    (
        "model of another vendor",
        [*SELECT, "--model", "anthropic:claude-sonnet-4"],
        "--model openai-chat:anthropic:claude-sonnet-4@URL --endpoint-key-variable VARIABLE ",
    ),
    ("open service on the network", ["serve", "--host", "0.0.0.0"], "not on 0.0.0.0"),
    ("open stack on the network", ["up", "--host", "0.0.0.0"], "not on 0.0.0.0"),
]


@pytest.mark.parametrize(("words", "said"), [case[1:] for case in INVALID], ids=[case[0] for case in INVALID])
def test_invalid_input_has_exit_code_2(lens: Run, words: list[str], said: str) -> None:
    code, errors = lens(*words)

    assert code == 2
    assert said in errors.replace("│", "")
    assert "Traceback" not in errors
    assert "Errno" not in errors


def test_taken_port_has_exit_code_2(lens: Run, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, errors = lens("up", "--port", str(port), "--data-dir", str(tmp_path / "data"))
    assert code == 2
    assert "try another --port" in errors


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("LENS_SPOOL_DIR", "missing", "(No such file or directory)\n  where: LENS_SPOOL_DIR"),
        ("LENS_LEASE_RENEW_SECONDS", "31", "  lease_renew_seconds must be at most half of lease_seconds, or"),
    ],
)
def test_setting_that_cannot_be_is_refused(
    lens: Run, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, said: str
) -> None:
    monkeypatch.setenv(variable, value)
    code, errors = lens("serve", "--port", "1")
    assert code == 2
    assert said in errors


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.InvalidDataset("x", field="dataset"), 2),
        (errors.InvalidConfig("x", field="options"), 2),
        (errors.ModelMismatch("x", field="model"), 2),
        (errors.UnknownModel("x"), 2),
        (errors.UnsafeModel("x"), 2),
        (errors.UnreadableModel("x"), 2),
        (errors.CheckpointDamaged("x"), 2),
        (errors.CheckpointForeign("x"), 2),
        (errors.NothingSelected("cancelled"), 130),
        (errors.ModelError("x"), 1),
        (errors.NonFiniteScore("x"), 1),
        (errors.OutOfMemory("x"), 1),
        (errors.LensError("x"), 1),
        (OSError("the connection broke"), 1),
    ],
)
def test_error_of_the_engine_has_the_exit_code_of_its_kind(error: Exception, code: int) -> None:
    with pytest.raises(Refusal) as refusal, refusing():
        raise error
    assert refusal.value.exit_code == code
    assert str(error) == str(refusal.value)


@pytest.mark.parametrize(("code", "shown"), [(1, "error: stopped\n"), (2, "error: stopped\n"), (130, "stopped\n")])
def test_stop_that_was_asked_for_is_not_called_an_error(code: int, shown: str) -> None:
    stream = StringIO()
    show_refusal(Refusal("stopped", exit_code=code), Console(file=stream))
    assert stream.getvalue() == shown


@pytest.mark.parametrize(
    ("number", "code", "message"),
    [
        (errno.EACCES, 2, "a.csv may not be read or written by this user"),
        (errno.EROFS, 2, "a.csv: read-only file system"),
        (errno.ENOSPC, 1, "a.csv cannot be written: the disk is full"),
        (errno.EIO, 1, "a.csv: input/output error"),
    ],
)
def test_error_of_a_file_is_a_sentence(number: int, code: int, message: str) -> None:
    with pytest.raises(Refusal) as refusal, refusing():
        raise OSError(number, os.strerror(number), "a.csv")
    assert (str(refusal.value), refusal.value.exit_code) == (message, code)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write every file")
def test_output_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text("")
    path.chmod(0o400)
    with pytest.raises(Refusal, match="may not be written"):
        check_output(path)
