"""Which preset runs when none is given, and how a run that is stopped early ends."""

import io
import os
import shlex
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from lens_cli.refusals import Refusal
from lens_cli.select.options import read_configs
from lens_cli.select.preset_choice import choose_preset
from lens_cli.select.run import SelectionRun
from lens_engine.config import PresetName
from lens_engine.errors import InvalidConfig
from lens_engine.language_model.open_model import LanguageModel
from lens_engine.presets import PRESETS
from lens_engine.rows.problem import Problem
from lens_engine.scoring.base import ScorerIdentity
from lens_engine.task.template import Task, Template, Verbalizer
from lens_engine.testing import TableScorer
from lens_engine.types import Example
from tests.dispositions import default_signals

TASK = Task(Template("{text} It was {label}."), Verbalizer({"positive": "great", "negative": "terrible"}))
EXAMPLES = [Example(row, f"film {row}", "positive" if row % 2 else "negative") for row in range(200)]
SMALL = ["filtering.candidates=64", "filtering.keep=16", "search.first_permutations=8", "search.iterations=0"]


@pytest.fixture
def runs() -> dict[PresetName, SelectionRun]:
    configs = read_configs(None, None, None, [])
    return {name: SelectionRun(Problem(TASK, EXAMPLES), config) for name, config in configs.items()}


class OnGpu(TableScorer):
    @property
    def identity(self) -> ScorerIdentity:
        return replace(super().identity, device="cuda")


class Keyboard(io.StringIO):
    def isatty(self) -> bool:
        return True


def make_console(*, is_terminal: bool) -> tuple[Console, io.StringIO]:
    stream = io.StringIO()
    return Console(file=stream, force_terminal=is_terminal, width=100), stream


def test_configurations_of_quick_and_standard_are_read_if_no_preset_is_given() -> None:
    assert read_configs(None, None, None, []) == {name: PRESETS[name] for name in ("quick", "standard")}
    assert read_configs("paper", None, None, []) == {"paper": PRESETS["paper"]}


def test_preset_that_the_options_do_not_suit_is_left_out() -> None:
    wide = ["search.beam_width=200"]  # more than the first permutations of quick
    assert list(read_configs(None, None, None, wide)) == ["standard"]
    with pytest.raises(InvalidConfig, match=r"did you mean search\.beam_width"):
        read_configs(None, None, None, ["beam_width=3"])


def test_nothing_is_asked_on_a_gpu(runs: dict[PresetName, SelectionRun]) -> None:
    console, stream = make_console(is_terminal=True)
    scorer = OnGpu()
    assert choose_preset(runs, scorer, console) == "standard"
    assert (stream.getvalue(), scorer.num_calls) == ("", 0)


@pytest.mark.parametrize(
    ("typed", "chosen"), [("\n", "quick"), ("quick\n", "quick"), ("standard\n", "standard"), ("all\n\n", "quick")]
)
def test_costs_are_shown_and_the_preset_is_asked_for_on_a_processor(
    typed: str, chosen: str, runs: dict[PresetName, SelectionRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Keyboard(typed))
    console, stream = make_console(is_terminal=True)

    assert choose_preset(runs, TableScorer(), console) == chosen

    for part in ("quick: pairs", "standard: pairs", "Rows of each split", "bag of words"):
        assert part in stream.getvalue()


@pytest.mark.parametrize(
    ("keyboard", "is_terminal"), [(io.StringIO("quick\n"), True), (Keyboard("quick\n"), False), (Keyboard(""), True)]
)
def test_without_a_terminal_the_commands_to_choose_from_are_shown(
    keyboard: io.StringIO, is_terminal: bool, runs: dict[PresetName, SelectionRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["select", "my rows.csv", "--template", "{text} It was {label}."]
    monkeypatch.setattr(sys, "stdin", keyboard)
    monkeypatch.setattr(sys, "argv", ["/somewhere/lens", *words])
    console, stream = make_console(is_terminal=is_terminal)

    with pytest.raises(Refusal, match="nothing was run; choose a preset") as refusal:
        choose_preset(runs, TableScorer(), console)

    assert refusal.value.exit_code == 2
    kept = ["--classifier", "classifier.json"]
    commands = [["lens", *words, "--preset", name, *kept] for name in ("quick", "standard")]
    assert [shlex.split(line) for line in refusal.value.details] == commands
    assert "quick: pairs" in stream.getvalue()


def test_preset_may_be_refused(runs: dict[PresetName, SelectionRun], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Keyboard("none\n"))
    monkeypatch.setattr(sys, "argv", ["lens", "select", "rows.csv", "--output=result.json"])
    console, _ = make_console(is_terminal=True)

    with pytest.raises(Refusal, match="nothing was run") as refusal:
        choose_preset(runs, TableScorer(), console)

    assert refusal.value.details[0] == "lens select rows.csv --output=result.json --preset quick"


@pytest.mark.parametrize(
    ("remembers", "is_resumable", "end"),
    [
        (True, False, "what was scored is kept, run the same command again to go on"),
        (False, False, "nothing is kept, because the pair cache is off and there is no checkpoint yet"),
        (False, True, "what was scored is kept, run the same command again to go on"),
    ],
)
def test_run_that_is_stopped_early_says_whether_scores_are_kept(
    remembers: bool, is_resumable: bool, end: str, tmp_path: Path, make_stopping_scorer: Callable[..., TableScorer]
) -> None:
    checkpoint = tmp_path / "run.checkpoint"
    config = read_configs("quick", None, None, SMALL)["quick"]
    run = SelectionRun(Problem(TASK, EXAMPLES), config)
    scorer = make_stopping_scorer(checkpoint.exists if is_resumable else lambda: True)
    console, stream = make_console(is_terminal=False)

    with pytest.raises(Refusal) as refusal:
        run.execute(LanguageModel(scorer, None), checkpoint, console, remembers=remembers)

    assert checkpoint.exists() == is_resumable
    assert str(refusal.value) == f"stopped before any examples were chosen; {end}"
    assert refusal.value.exit_code == 130
    assert "Done" not in stream.getvalue()


@pytest.fixture
def make_stopping_scorer() -> Any:
    """Makes a scorer that sends this process one Ctrl-C, before the first call at which it is time."""

    def make(is_time: Callable[[], bool]) -> TableScorer:
        sent: list[int] = []

        def interrupt(call: int) -> None:
            if not sent and is_time():
                sent.append(call)
                os.kill(os.getpid(), signal.SIGINT)

        return TableScorer(before_call=interrupt)

    with default_signals():
        yield make
