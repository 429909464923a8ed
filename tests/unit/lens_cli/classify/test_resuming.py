"""A run that was stopped resumes, to the same output as an undisturbed run."""

import signal
from pathlib import Path

import pytest
from workbench import CLASSIFIER, Workbench, make_texts

from lens_cli.classify.run import Origin, partial_file
from lens_cli.refusals import EXIT_INTERRUPTED, EXIT_INVALID, Refusal
from tests.dispositions import default_signals

ORIGIN = Origin(
    classifier_sha256="a", input_sha256="b", text_column="text", delimiter=",", encoding="utf-8", dtype="float32"
)


def interrupt(call: int) -> None:
    if call == 1:
        signal.raise_signal(signal.SIGINT)


def kill(call: int) -> None:
    if call == 2:
        raise KeyboardInterrupt


@pytest.fixture
def texts(bench: Workbench) -> Path:
    return bench.write(make_texts(1000))


@pytest.fixture
def undisturbed(bench: Workbench, texts: Path) -> bytes:
    paths = bench.paths(texts, "undisturbed.csv")
    bench.run(paths)
    bench.scorers.clear()
    return paths.output.read_bytes()


def stop(bench: Workbench, texts: Path) -> None:
    """Stop a run while it classifies its second batch."""
    with default_signals(), pytest.raises(Refusal, match="stopped after 512 of 1,000 rows") as caught:
        bench.run(bench.paths(texts), before_call=interrupt)
    assert caught.value.exit_code == EXIT_INTERRUPTED
    assert "to resume, repeat the command" in caught.value.details[0]


def test_stopped_run_resumes_with_the_rows_that_are_left(bench: Workbench, texts: Path, undisturbed: bytes) -> None:
    paths = bench.paths(texts)
    stop(bench, texts)
    assert not paths.output.exists()

    printed = bench.run(paths)

    assert [scorer.num_calls for scorer in bench.scorers] == [2, 2]
    assert "note: 512 of 1,000 rows were classified by an earlier run" in printed
    assert paths.output.read_bytes() == undisturbed
    assert not paths.partial.exists()


def test_killed_run_resumes_with_whole_batches(bench: Workbench, texts: Path, undisturbed: bytes) -> None:
    paths = bench.paths(texts)
    with pytest.raises(KeyboardInterrupt):
        bench.run(paths, before_call=kill)
    lines = paths.partial.read_bytes().splitlines(keepends=True)
    paths.partial.write_bytes(b"".join(lines[:500]) + lines[500][:10])

    bench.run(paths)

    assert [scorer.num_calls for scorer in bench.scorers] == [2, 3]
    assert paths.output.read_bytes() == undisturbed


def test_run_killed_before_it_wrote_the_output_asks_nothing_again(
    bench: Workbench, texts: Path, undisturbed: bytes
) -> None:
    paths = bench.paths(texts)
    paths.output.mkdir()
    with pytest.raises(OSError, match="directory"):
        bench.run(paths)
    paths.output.rmdir()

    bench.run(paths)

    assert [scorer.num_calls for scorer in bench.scorers] == [4, 0]
    assert paths.output.read_bytes() == undisturbed


def test_stop_before_the_first_batch_leaves_no_file(bench: Workbench, texts: Path) -> None:
    paths = bench.paths(texts)
    with pytest.raises(KeyboardInterrupt):
        bench.run(paths, before_call=lambda call: kill(call + 2))
    assert not paths.partial.exists()


def test_partial_file_of_another_classifier_or_input_is_refused(bench: Workbench, texts: Path) -> None:
    stop(bench, texts)
    texts.write_text(texts.read_text().replace("joy", "bore"))
    CLASSIFIER.model_copy(update={"tokens_per_input": 21.0}).save(bench.folder / "classifier.json")

    with pytest.raises(Refusal, match="it differs in: classifier, input file") as caught:
        bench.run(bench.paths(texts))

    assert caught.value.exit_code == EXIT_INVALID
    assert "--restart" in caught.value.details[0]
    assert len(bench.scorers) == 1


def test_restart_discards_what_is_there(bench: Workbench, texts: Path, undisturbed: bytes) -> None:
    stop(bench, texts)
    paths = bench.paths(texts)
    bench.run(paths, restart=True)
    assert bench.scorers[-1].num_calls == 4
    assert paths.output.read_bytes() == undisturbed


def test_file_that_holds_something_else_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "notes.partial.jsonl"
    path.write_text("my notes\n")
    with pytest.raises(Refusal, match="it differs in: format"), partial_file(path, ORIGIN, 3):
        pass
    assert path.read_text() == "my notes\n"


def test_file_in_use_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "predictions.partial.jsonl"
    writing = pytest.raises(Refusal, match="another process is writing")
    with partial_file(path, ORIGIN, 3), writing, partial_file(path, ORIGIN, 3):
        pass
