"""The answers to a file that are kept until it is written."""

from pathlib import Path
from typing import Any

import pytest

from lens_client.calls import BATCH_TEXTS, Kept, digest_file

ASKED = {"path": "/prompts/triage", "prompts": "classifier"}
ANSWERS = [{"label": "a\u2028b}\n", "probabilities": [0.5], "cut": False, "error": f"row {row}"} for row in range(600)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "texts.csv"
    path.write_text("text\nhello\n")
    return path


def open_kept(file: Path, **changes: Any) -> Kept:
    return Kept.open(file.with_name("out.csv"), {"file": digest_file(file)} | ASKED | changes)


@pytest.fixture
def partial(file: Path) -> Path:
    """Two batches and some of a third, with a line that was cut."""
    kept = open_kept(file)
    kept.add(ANSWERS[:BATCH_TEXTS], None)
    kept.add(ANSWERS[BATCH_TEXTS:], ["sel_1", 1])
    path = file.with_name("out.csv.partial.jsonl")
    path.write_bytes(path.read_bytes()[:-9])
    return path


def test_whole_batches_are_taken_up_after_each_of_two_kills(file: Path, partial: Path) -> None:
    for _ in range(2):
        kept = open_kept(file)
        assert kept.answers == ANSWERS[: 2 * BATCH_TEXTS]
        kept.add(ANSWERS[2 * BATCH_TEXTS :], ["sel_1", 1])
        partial.write_bytes(partial.read_bytes()[:-9])
    kept.finish(b"written")
    assert (file.with_name("out.csv").read_bytes(), partial.exists()) == (b"written", False)


@pytest.mark.parametrize("changes", [{"path": "/prompts/other"}, {"prompts": "support_examples"}, {"delimiter": ";"}])
def test_answers_of_another_name_or_wish_are_not_taken_up(file: Path, partial: Path, changes: dict[str, str]) -> None:
    assert open_kept(file, **changes).answers == []
    partial.write_text('{"file": "of an earlier release"}\n{}\n')
    assert open_kept(file).answers == []


def test_another_file_or_version_is_asked_from_its_first_row(file: Path, partial: Path) -> None:
    kept = open_kept(file)
    kept.add(ANSWERS[:5], ["sel_1", 2])
    assert kept.answers == open_kept(file).answers == []
    kept.add(ANSWERS[:BATCH_TEXTS], ["sel_1", 2])
    assert open_kept(file).answers == ANSWERS[:BATCH_TEXTS]
    file.write_text("text\nbye\n")
    assert open_kept(file).answers == []
    assert partial.exists()
