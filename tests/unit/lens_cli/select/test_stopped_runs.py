"""How a run that is stopped early ends."""

import io
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from lens_cli.refusals import Refusal
from lens_cli.select.options import SearchOptions
from lens_cli.select.run import SelectionRun
from lens_engine.opening import LanguageModel
from lens_engine.prompt.template import Task, Template
from lens_engine.prompt.verbalizer import Verbalizer
from lens_engine.rows.problem import Problem
from lens_engine.testing import TableScorer
from lens_engine.types import Example
from tests.dispositions import default_signals

TASK = Task(Template("{text} It was {label}."), Verbalizer({"positive": "great", "negative": "terrible"}))
EXAMPLES = [Example(row, f"film {row}", "positive" if row % 2 else "negative") for row in range(200)]
SMALL = ["filtering.candidates=64", "filtering.keep=16", "search.first_permutations=8", "search.iterations=0"]


@pytest.mark.parametrize(
    ("remembers", "is_resumable", "end"),
    [
        (True, False, "what was scored is kept, run the same command again to go on"),
        (False, False, "nothing is kept, because the pair cache is off and there is no checkpoint yet"),
        (False, True, "what was scored is kept, run the same command again to go on"),
    ],
)
def test_run_that_is_stopped_early_says_whether_scores_are_kept(
    remembers: bool, is_resumable: bool, end: str, tmp_path: Path, stopping_scorer: TableScorer
) -> None:
    checkpoint = tmp_path / "run.checkpoint" if is_resumable else None
    config = SearchOptions(option=SMALL).read()
    run = SelectionRun(Problem(TASK, EXAMPLES), config)
    stream = io.StringIO()
    console = Console(file=stream, width=100)

    with pytest.raises(Refusal) as refusal:
        run.execute(LanguageModel(stopping_scorer), checkpoint, console, remembers=remembers)

    assert checkpoint is None or checkpoint.exists()
    assert str(refusal.value) == f"stopped before any examples were chosen; {end}"
    assert refusal.value.exit_code == 130
    assert "Done" not in stream.getvalue()


@pytest.fixture
def stopping_scorer() -> Iterator[TableScorer]:
    """A scorer that sends this process one Ctrl-C, before its first call."""

    def interrupt(call: int) -> None:
        if call == 0:
            os.kill(os.getpid(), signal.SIGINT)

    with default_signals():
        yield TableScorer(before_call=interrupt)
