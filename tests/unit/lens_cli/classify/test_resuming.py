"""A run that was stopped resumes, to the same output as an undisturbed run."""

import signal
from pathlib import Path

import pytest
from workbench import CLASSIFIER, Workbench, make_texts

from lens_cli.refusals import EXIT_INTERRUPTED, Refusal
from tests.dispositions import default_signals


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


def test_stop_before_the_first_batch_leaves_no_file(bench: Workbench, texts: Path) -> None:
    paths = bench.paths(texts)
    with pytest.raises(KeyboardInterrupt):
        bench.run(paths, before_call=lambda call: kill(call + 2))
    assert not paths.partial.exists()


def test_predictions_of_another_classifier_or_input_are_not_taken_up(bench: Workbench, texts: Path) -> None:
    for change in (
        lambda: texts.write_text(texts.read_text().replace("joy", "bore")),
        lambda: CLASSIFIER.model_copy(update={"tokens_per_input": 21.0}).save(bench.folder / "classifier.json"),
    ):
        stop(bench, texts)
        change()
        bench.run(bench.paths(texts))
        assert bench.scorers[-1].num_calls == 4
