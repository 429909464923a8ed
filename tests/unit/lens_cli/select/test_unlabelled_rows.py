"""Rows without a label are kept aside, and written for `lens classify`."""

from dataclasses import replace
from pathlib import Path

import pytest

from lens_cli.select.run import write_unlabelled
from lens_cli.select.sources import Sources
from lens_cli.suggest.view import write_command
from lens_engine.errors import Faults, InvalidDataset
from lens_engine.files import ParsingLimits, read_texts
from lens_engine.run.suggest import suggest

LABELS = ("billing", "delivery", "")


@pytest.fixture
def train(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    rows = "".join(f'Sunny,"message {number}, please",{LABELS[number % 3]}\n' for number in range(60))
    path.write_text(f"title,body,sort\n{rows}")
    return path


def test_unlabelled_rows_are_written_as_a_file_that_classify_reads(train: Path, tmp_path: Path) -> None:
    sources, faults = Sources(train, text_column=("title", "body"), skips_unlabelled=True), Faults()
    read = sources.read(faults)
    assert len(read.dataset) == 40
    assert read.input.text_column == ("title", "body")
    (tmp_path / "unlabelled.csv").write_bytes(write_unlabelled(read.unlabelled))
    found = read_texts(tmp_path / "unlabelled.csv", ParsingLimits.of_own_files())
    assert [row.text for row in found.rows] == [f"Sunny\nmessage {number}, please" for number in range(2, 60, 3)]


def test_unlabelled_rows_are_refused_with_the_option_that_keeps_them_aside(train: Path) -> None:
    faults = Faults()
    Sources(train).read(faults)
    with pytest.raises(InvalidDataset, match=r"20 rows cannot be used.*set options\.rows\.unlabelled to skip"):
        faults.refuse()


def test_suggested_command_has_the_option_and_the_joined_columns(train: Path) -> None:
    suggestion = suggest(train, text_column=("title", "body"))
    command = write_command(replace(suggestion), Sources(train))
    assert "--text-column title --text-column body --label-column sort" in command
    assert "--option rows.unlabelled=skip" in command
