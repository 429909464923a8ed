import signal
import threading
from dataclasses import replace
from io import StringIO
from itertools import count
from typing import Any

import pytest
from rich.console import Console
from rich.progress import Progress as Bar

from lens_cli.views import progress
from lens_cli.views.progress import SelectionBar, describe_facts, describe_place, describe_rows, row_bar, selection_bar
from lens_engine.evaluation.batches import RowProgress
from lens_engine.prompt.wording import describe_seconds
from lens_engine.types import Phase
from tests.integration.samples import PROGRESS as SAMPLE
from tests.unit.lens_cli.results import printed_on

PLACE = {"pairs_done": 1200, "pairs_total": 25541, "tokens_done": 30_000, "tokens_total": 60_000}
PROGRESS = replace(SAMPLE, **PLACE, tokens_per_second=1849.6, eta_seconds=75.2, expected_accuracy=0.83)


def test_facts_name_pairs_speed_time_left_and_accuracy() -> None:
    assert describe_facts(PROGRESS) == "1,200/25,541 pairs · 1,850 tokens/s · 1 min 15 s left · now about 83 % right"
    assert describe_facts(replace(PROGRESS, largest_class=0.6)).endswith(
        " · now about 83 % right (always the most frequent label: 60 %)"
    )


def test_place_counts_steps_if_there_are_several() -> None:
    assert describe_place(PROGRESS) == "Search 2/4"
    assert describe_place(replace(PROGRESS, phase=Phase.JUDGE, step=1, steps=1)) == "Judging"
    assert describe_place(replace(PROGRESS, phase=Phase.FIT, step=1, steps=1)) == "Fitting"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59.6, "1 min 0 s"),
        (599, "9 min 59 s"),
        (3569, "59 min"),
        (3599, "1 h 0 min"),
        (11_474, "3 h 11 min"),
    ],
)
def test_durations_are_shown_in_the_units_that_matter(seconds: float, text: str) -> None:
    assert describe_seconds(seconds) == text


def test_without_terminal_each_wait_and_minute_print_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_clock", lambda: now)
    now, console = 0.0, Console(file=StringIO(), width=200)
    bar = SelectionBar(Bar(console=console, disable=True))
    bar.wait("Loading")
    more = replace(PROGRESS, pairs_done=1300, phase=Phase.TEST)
    for now, shown in ((59.0, None), (60.0, None), (70.0, PROGRESS), (119.0, more), (120.0, None), (179.0, None)):  # noqa: B007
        if shown is not None:
            bar.on_progress(shown)
        bar.remind()
    lines = printed_on(console).splitlines()
    assert lines[:2] == ["Loading", "Loading · 1 min 0 s so far"]
    assert (len(lines), lines[2][:18], lines[2][-19:]) == (3, "Test 2/4: 1,300/25", " · 2 min 0 s so far")


@pytest.mark.parametrize("show", [selection_bar, row_bar])
def test_lines_are_printed_while_nothing_is_told(monkeypatch: pytest.MonkeyPatch, show: Any) -> None:
    monkeypatch.setattr(progress, "_LOOK_SECONDS", 0.001)
    monkeypatch.setattr(progress, "_clock", count(step=40).__next__)
    said = threading.Event()
    with show(Console(file=StringIO(), width=200)) as bar:
        monkeypatch.setattr(bar, "_say", lambda line: said.set() if line.endswith(" so far") else None)
        assert said.wait(60)


def test_without_terminal_a_stop_is_said() -> None:
    console = Console(file=StringIO(), width=200)
    with selection_bar(console) as bar:
        bar.on_progress(PROGRESS)
        stop(bar)
        bar.on_progress(replace(PROGRESS, tokens_done=30_001))
    assert printed_on(console).splitlines()[-1] == ("Stopping; Ctrl-C again stops now, without a result")


def stop(bar: SelectionBar) -> None:
    with bar.listening():
        signal.raise_signal(signal.SIGTERM)


def make_bar() -> tuple[SelectionBar, Bar]:
    rich_bar = Bar(console=Console(file=StringIO()), disable=True)
    return SelectionBar(rich_bar), rich_bar


def test_bar_of_a_finished_run_is_full_and_that_of_a_stopped_run_is_not() -> None:
    for end, completed in (("finish", 60_000), ("stop", 30_000)):
        bar, rich_bar = make_bar()
        stop(bar)
        bar.on_progress(PROGRESS)
        [task] = rich_bar.tasks
        assert task.description == "Stopping"
        getattr(bar, end)("Ended")
        assert (task.description, task.completed, task.total) == ("Ended", completed, 60_000)


def test_bar_of_a_stopped_run_keeps_its_place() -> None:
    console = Console(file=StringIO(), width=200, force_terminal=True)
    with selection_bar(console) as bar:
        bar.on_progress(PROGRESS)
        bar.stop("Stopped")
    last_line = printed_on(console).rpartition("\r")[2]
    assert "Stopped" in last_line
    assert "1,200/25,541 pairs · 1,850 tokens/s · now about 83 % right" in last_line


@pytest.mark.parametrize(
    ("num_done", "rows_per_second", "text"),
    [
        (512, None, "512/2,000 rows"),
        (512, 24.0, "512/2,000 rows · 24 rows/s · 1 min 2 s left"),
        (2000, 4.25, "2,000/2,000 rows · 4.2 rows/s · 0 s left"),
    ],
)
def test_rows_are_shown_with_speed_and_time_left(num_done: int, rows_per_second: float | None, text: str) -> None:
    assert describe_rows(num_done, 2000, rows_per_second) == text


def test_without_terminal_each_tenth_of_the_rows_prints_a_line() -> None:
    console = Console(file=StringIO(), width=200)
    with row_bar(console) as bar:
        bar.on_rows(RowProgress(40, 1000, None))
        for num_done in (50, 99, 100, 250, 251, 1000):
            bar.on_rows(RowProgress(num_done, 1000, 10.0))
    assert [line.split(" rows")[0] for line in printed_on(console).splitlines()] == [
        "Classifying: 100/1,000",
        "Classifying: 250/1,000",
        "Classifying: 1,000/1,000",
    ]
