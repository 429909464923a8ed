"""Progress: what a run tells its listener, and how the listener asks the run to stop."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from lens_engine.metering.prices import Cost
from lens_engine.prompt.wording import show_percent
from lens_engine.types import Phase, StopReason


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is. A pair is one prefix and one query scored; tokens are counted as in `Cost`."""

    phase: Phase
    step: int  #: step of the current phase, from 1
    steps: int
    pairs_done: int
    pairs_total: int
    """At most, and no more than `budget.max_pairs`. It falls as a step of the run ends that has saved pairs."""
    tokens_done: int
    tokens_total: int
    tokens_per_second: float | None
    eta_seconds: float | None
    expected_accuracy: float | None
    """Of the best by now, without the optimism of choosing, so it may fall; None while LENS searches."""
    survivors: int | None = None  #: candidates that the rounds of filtering so far have kept
    largest_class: float | None = None  #: share of the largest class among the judging rows
    cut_off: Phase | None = None  #: phase in which a limit or a stop ended the search

    @property
    def expectation(self) -> str:
        """How often the best is expected to be right by now, as per cent; nothing before it is known."""
        if self.expected_accuracy is None:
            return ""
        share = self.largest_class
        largest = "" if share is None else f" (always the most frequent label: {show_percent(share)} %)"
        return f"now about {show_percent(self.expected_accuracy)} % right{largest}"


@dataclass
class Standing:
    """Where a run is, and the best that it found so far: what progress tells beside the cost."""

    phase: Phase = Phase.FILTER
    step: int = 1
    steps: int = 1
    expected_accuracy: float | None = None
    survivors: int | None = None
    largest_class: float | None = None  #: share of the largest class among the judging rows
    cut_off: Phase | None = None  #: phase in which a limit or a stop ended the search

    def describe(self, spent: Cost, planned: Cost, pace: float | None, seconds_left: float | None) -> Progress:
        """The progress of a run with this cost; the plan may be exceeded."""
        return Progress(
            **vars(self),
            pairs_done=spent.pairs,
            pairs_total=max(planned.pairs, spent.pairs),
            tokens_done=spent.tokens,
            tokens_total=max(planned.tokens, spent.tokens),
            tokens_per_second=pace,
            eta_seconds=seconds_left,
        )


class SelectionListener(Protocol):
    """Receives progress and asks for a stop. The computing thread calls it: be quick, raise nothing.

    It calls both methods between chunks, `stop_requested` also between two layers of a language model, and neither
    while it scores nothing.
    """

    def on_progress(self, progress: Progress) -> None: ...

    def stop_requested(self) -> StopReason | None:
        """A reason to stop at once; None to continue."""
        ...


class SilentListener:
    """Ignores progress and never asks for a stop."""

    def on_progress(self, progress: Progress) -> None:
        pass

    def stop_requested(self) -> StopReason | None:
        return None


@contextmanager
def hearing(listener: SelectionListener | None, *, progress: bool) -> Iterator[SelectionListener]:
    """The listener of a run: the given one, else a bar on stderr if it is wanted and somebody can see it.

    The bar is text in a notebook too, because a widget needs ipywidgets. Without tqdm, which comes with transformers,
    there is no bar.
    """
    is_seen = sys.stderr is not None and (sys.stderr.isatty() or is_notebook())
    if listener is not None or not progress or not is_seen:
        yield listener or SilentListener()
        return
    try:
        from tqdm import tqdm
    except ImportError:
        yield SilentListener()
        return
    with tqdm(file=sys.stderr, unit="token", unit_scale=True, dynamic_ncols=True) as bar:
        yield TerminalBar(bar)


def is_notebook() -> bool:
    """Whether this process is the kernel of a notebook, whose stderr is no terminal and yet shows a bar."""
    ipython = sys.modules.get("IPython")  # every kernel has imported it
    shell = None if ipython is None else ipython.get_ipython()
    return any(kind.__name__ == "ZMQInteractiveShell" for kind in type(shell).__mro__)


class TerminalBar:
    """Shows phase, tokens, speed, time left and what to expect by now."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._is_begun = False

    def on_progress(self, progress: Progress) -> None:
        steps = f" {progress.step}/{progress.steps}" if progress.steps > 1 else ""
        self._bar.set_description(f"{progress.phase.value}{steps}", refresh=False)
        self._bar.set_postfix_str(progress.expectation, refresh=False)
        self._bar.total = max(progress.tokens_total, 1)
        if not self._is_begun:
            self._is_begun = True
            self._bar.initial = progress.tokens_done  # of an earlier attempt; no part of the speed
        self._bar.n = progress.tokens_done
        self._bar.refresh()

    def stop_requested(self) -> None:
        """Never asks for a stop."""
