"""The progress bar of the library."""

import io
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from lens_engine.metering.progress import TerminalBar, hearing
from lens_engine.pipeline import select_support_examples
from lens_engine.result import SelectionResult

Make = Callable[..., Any]


class Terminal(io.StringIO):
    """A stderr that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def select(make_planted_problem: Make, make_planted_scorer: Make, make_config: Make) -> Callable[..., SelectionResult]:
    def run(**given: Any) -> SelectionResult:
        config = make_config(search={"iterations": 1})
        return select_support_examples(make_planted_problem(), make_planted_scorer(), config, **given)

    return run


def test_bar_on_a_terminal_shows_the_phases_and_ends_full(
    select: Callable[..., SelectionResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)

    result = select()

    shown = terminal.getvalue()
    assert "filter 1/" in shown
    assert "best so far: " in shown
    last = shown.rstrip().rpartition("\r")[2]
    assert "100%" in last
    assert not result.partial


@pytest.mark.parametrize(
    ("stream", "given"),
    [(io.StringIO(), {}), (Terminal(), {"progress": False}), (Terminal(), {"listener": True}), (None, {})],
    ids=["no terminal", "not wanted", "listener given", "no stderr"],
)
def test_otherwise_nothing_is_shown(
    stream: io.StringIO | None,
    given: dict[str, Any],
    select: Callable[..., SelectionResult],
    make_listener: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)

    select(**{**given, **({"listener": make_listener()} if "listener" in given else {})})

    assert stream is None or stream.getvalue() == ""


def test_without_tqdm_there_is_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with hearing(None, progress=True) as heard:
        assert isinstance(heard, TerminalBar)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with hearing(None, progress=True) as heard:
        assert not isinstance(heard, TerminalBar)


class ZMQInteractiveShell:
    """Has the name of the shell of a notebook's kernel."""


class Shell(ZMQInteractiveShell):
    """A shell of one's own, as Colab has."""


class TerminalInteractiveShell:
    """Has the name of the shell of `ipython`."""


@pytest.mark.parametrize(
    ("shell", "is_kernel"),
    [(ZMQInteractiveShell(), True), (Shell(), True), (TerminalInteractiveShell(), False), (None, False)],
)
def test_bar_is_shown_in_a_notebook(
    shell: object, is_kernel: bool, select: Callable[..., SelectionResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))

    select()

    assert ("filter 1/" in stream.getvalue()) == is_kernel
