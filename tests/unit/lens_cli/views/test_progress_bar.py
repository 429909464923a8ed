"""The progress bar, with and without a terminal."""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from lens_cli.views.progress import describe_facts, describe_place, describe_seconds, selection_bar
from lens_engine.metering.progress import Progress
from lens_engine.types import Phase

PROGRESS = Progress(
    phase=Phase.SEARCH,
    step=2,
    steps=4,
    pairs_done=1200,
    pairs_total=25541,
    tokens_done=30_000,
    tokens_total=60_000,
    tokens_per_second=1849.6,
    eta_seconds=75.2,
    best_validation_accuracy=0.83,
)


def test_facts_name_pairs_speed_time_left_and_accuracy() -> None:
    assert describe_facts(PROGRESS) == "1,200/25,541 pairs · 1,850 tokens/s · 1:15 left · best 0.830"


def test_facts_omit_unknown_values() -> None:
    early = replace(PROGRESS, tokens_per_second=None, eta_seconds=None, best_validation_accuracy=None)
    assert describe_facts(early) == "1,200/25,541 pairs"


def test_place_counts_steps_if_there_are_several() -> None:
    assert describe_place(PROGRESS) == "Search 2/4"
    assert describe_place(replace(PROGRESS, phase=Phase.INITIALISE, step=1, steps=1)) == "First permutations"


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (59.6, "1:00"), (3599, "59:59"), (3661, "1:01:01")])
def test_seconds_are_shown_as_a_clock(seconds: float, text: str) -> None:
    assert describe_seconds(seconds) == text


def test_without_terminal_each_step_and_tenth_prints_a_line() -> None:
    console = Console(file=StringIO(), width=200)
    with selection_bar(console) as bar:
        bar.wait("Loading")
        for progress in (PROGRESS, replace(PROGRESS, tokens_done=30_001), replace(PROGRESS, tokens_done=36_000)):
            bar.show(progress)
        bar.finish("Done")
    assert isinstance(console.file, StringIO)
    assert [line.split(":")[0] for line in console.file.getvalue().splitlines()] == [
        "Search 2/4",
        "Search 2/4",
    ]


def test_bar_on_terminal_shows_facts_and_ends_full() -> None:
    console = Console(file=StringIO(), width=200, force_terminal=True)
    with selection_bar(console) as bar:
        bar.show(PROGRESS)
        bar.finish("Done")
    assert isinstance(console.file, StringIO)
    assert "1,200/25,541 pairs" in console.file.getvalue()
    assert "Done" in console.file.getvalue().rpartition("Diversity")[2]
