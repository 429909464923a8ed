import io
import sys
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from lens_engine.metering.prices import Cost, Prices, TokenLengths
from lens_engine.metering.progress import SilentListener, TerminalBar, hearing
from lens_engine.rows.problem import Problem
from lens_engine.run.pipeline import select_support_examples
from lens_engine.run.preparation import prepare_run, price_run
from lens_engine.types import Phase

Make = Callable[..., Any]


@pytest.fixture
def prices(make_config: Make) -> Prices:
    """Of four demonstrations in a set."""
    return Prices(make_config(), TokenLengths(demonstration=6.0, query=5.0), 60, 16, 30, 4)


class PhaseCounter(SilentListener):
    """Pairs done when each phase was last heard of."""

    def __init__(self) -> None:
        self.done: dict[Phase, int] = {}

    def on_progress(self, progress: Any) -> None:
        self.done[progress.phase] = progress.pairs_done


@pytest.mark.parametrize(
    "options",
    [
        {"seed": 3},
        {"filtering": {"rho": 2.0, "keep": 30}},
        {"balanced": False, "num_demonstrations": 5},
        {"search": {"halvings": 1, "forms": ("nearest", "fixed")}},
        {"rows": {"search": 0}, "search": {"sets": 12, "forms": ("fixed", "nearest", "fixed+nearest")}},
    ],
)
def test_run_spends_no_more_than_was_estimated_in_any_phase(
    options: dict[str, Any], problem: Problem, make_planted_scorer: Any, make_config: Make
) -> None:
    config, scorer, counter = make_config(**options), make_planted_scorer(), PhaseCounter()
    planned = price_run(prepare_run(problem, scorer, config).setup)

    result = select_support_examples(problem, scorer, config, listener=counter)

    assert list(planned) == [phase for phase in Phase if phase in counter.done]
    before = 0
    for phase, cost in planned.items():
        spent, before = counter.done[phase] - before, counter.done[phase]
        assert 0 < spent <= cost.pairs
        assert phase is not Phase.FILTER or spent == cost.pairs
    assert result.cost.pairs == scorer.num_pairs == before


def test_judging_counts_queries_and_prefixes(prices: Prices) -> None:
    assert prices.judging(3, 10) == Cost(30, 3 * (4 * 6 + 10 * 5))
    assert prices.judging(1, 10, demonstrations=0) == Cost(10, 50)
    assert prices.judging(0, 10) == Cost()


def test_row_with_demonstrations_of_its_own_pays_for_them_and_once_for_those_before(prices: Prices) -> None:
    cost, own = prices.judging_pairs(20, 8, fixed=2), 20 * (8 * 6 + 5)

    assert (cost, cost.prompt_tokens, cost.prefixes) == (Cost(20, own + 2 * 6), own + 20 * 2 * 6, 20)
    assert prices.judging_pairs(20, 0) == Cost(20, 100)
    told = replace(prices, lengths=TokenLengths(demonstration=6.0, query=5.0, opening=3))
    assert told.judging_pairs(20, 8, fixed=2) == cost + Cost(0, 3)


def test_without_a_search_nothing_is_filtered_and_searched(prices: Prices) -> None:
    assert prices.searching().pairs > prices.filtering().pairs > 0
    few = replace(prices, num_candidates=0)
    assert (few.filtering(), few.searching()) == (Cost(), Cost())


class Terminal(io.StringIO):
    """A stderr that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_bar_on_a_terminal_shows_the_phases_and_ends_full(
    problem: Problem, make_planted_scorer: Any, make_config: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)

    select_support_examples(problem, make_planted_scorer(), make_config(search={"iterations": 1}))

    shown = terminal.getvalue()
    assert "filter 1/" in shown
    assert "now about " in shown
    assert "100%" in shown.rstrip().rpartition("\r")[2]


KERNEL, TERMINAL = (type(name, (), {}) for name in ("ZMQInteractiveShell", "TerminalInteractiveShell"))
"""Have the names of the shells of a notebook's kernel and of `ipython`."""


@pytest.mark.parametrize(
    ("stream", "shell", "progress", "is_shown"),
    [
        (Terminal(), None, True, True),
        (Terminal(), None, False, False),
        (io.StringIO(), None, True, False),
        (None, None, True, False),
        (io.StringIO(), KERNEL(), True, True),
        (io.StringIO(), type("OfColab", (KERNEL,), {})(), True, True),
        (io.StringIO(), TERMINAL(), True, False),
    ],
)
def test_bar_is_shown_where_somebody_sees_it(
    stream: io.StringIO | None, shell: object, progress: bool, is_shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    with hearing(None, progress=progress) as heard:
        assert isinstance(heard, TerminalBar) == is_shown
    given = SilentListener()
    with hearing(given, progress=True) as heard:
        assert heard is given
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with hearing(None, progress=True) as heard:
        assert isinstance(heard, SilentListener)
