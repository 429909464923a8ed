"""What a command says while it works: bars of a selection and of rows, and steps of the opening of a model."""

import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from lens_cli.signals import StopRequest
from lens_engine.metering.progress import Progress
from lens_engine.prompt.wording import describe_seconds
from lens_engine.show.words import PHASES
from lens_engine.types import StopReason

if TYPE_CHECKING:  # a selection shows its bar without it
    from lens_engine.evaluation.batches import RowProgress

_STOPPING = "Stopping"
_SILENT_SECONDS = 60.0  #: longest time without a line where no bar is shown
_LOOK_SECONDS = 1.0
_clock = time.monotonic


class _Line:
    """One line of `bar`: a description, a bar, and facts. Where the output is no terminal, lines are printed."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._began_at = self._said_at = _clock()
        self._newest_line = "Starting"
        self._task_id = bar.add_task("Starting", total=None, facts="")
        self._request = StopRequest()

    def stop_requested(self) -> StopReason | None:
        return StopReason.CANCELLED if self._request.is_made else None

    def listening(self) -> AbstractContextManager[None]:
        """A context in which the first stop signal is passed on, and the second raised."""
        return self._request.listening(self._begin_to_stop)

    def _begin_to_stop(self) -> None:
        """Say that the work stops, until it has stopped."""
        self._bar.update(self._task_id, description=_STOPPING)
        self._say(_STOPPING)

    def wait(self, what: str) -> None:
        """Show what the command waits for while there is no progress."""
        self._newest_line = what
        self._bar.update(self._task_id, description=what, total=None)
        self._say(what)

    def _say(self, line: str) -> None:
        """Print a line where no bar is shown."""
        self._said_at = _clock()
        if not self._bar.console.is_terminal:
            self._bar.console.print(line, soft_wrap=True)

    def remind(self) -> None:
        """Print the newest line, and the time so far, where the last one was printed a minute ago."""
        now = _clock()
        if now - self._said_at >= _SILENT_SECONDS:
            self._say(f"{self._newest_line} · {describe_seconds(now - self._began_at)} so far")

    @contextmanager
    def reminding(self) -> Iterator[None]:
        """Remind until the block ends. A thread does it, because the block may compute for minutes without a word."""
        is_over = threading.Event()

        def look() -> None:
            while not is_over.wait(_LOOK_SECONDS):
                self.remind()

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()


class SelectionBar(_Line):
    """Shows phase, pairs, speed, time left and what to expect by now.

    The bar's length follows tokens, because tokens take the time. If the output is not a terminal, each minute prints
    one line.
    """

    def __init__(self, bar: Bar) -> None:
        super().__init__(bar)
        self._total = 1
        self._newest: Progress | None = None

    def on_progress(self, progress: Progress) -> None:
        self._newest = progress
        self._total = max(progress.tokens_total, 1)
        self._bar.update(
            self._task_id,
            description=_STOPPING if self._request.is_made else describe_place(progress),
            completed=progress.tokens_done,
            total=self._total,
            facts=describe_facts(progress),
        )
        self._newest_line = f"{describe_place(progress)}: {describe_facts(progress)}"

    def _begin_to_stop(self) -> None:
        self._bar.update(self._task_id, description=_STOPPING)
        self._bar.console.print(f"{_STOPPING}; Ctrl-C again stops now, without a result", soft_wrap=True)

    def finish(self, what: str) -> None:
        """Fill the bar, which may be short of its end because repeated work was skipped."""
        facts = ""
        if (one := self._newest) is not None:
            pairs, tokens = one.pairs_done, one.tokens_done
            ended = replace(one, step=one.steps, pairs_total=pairs, tokens_total=tokens, eta_seconds=0.0)
            facts = describe_facts(ended)
        self._bar.update(self._task_id, description=what, completed=self._total, total=self._total, facts=facts)

    def stop(self, what: str) -> None:
        """Leave the bar where the run stopped."""
        facts = "" if self._newest is None else describe_facts(replace(self._newest, eta_seconds=None))
        self._bar.update(self._task_id, description=what, total=self._total, facts=facts)


@contextmanager
def selection_bar(console: Console, *, transient: bool = False) -> Iterator[SelectionBar]:
    """Show a bar on `console` until the block ends; a transient bar is erased then."""
    with _make_bar(console, transient=transient) as bar:
        line = SelectionBar(bar)
        with line.reminding():
            yield line


class RowBar(_Line):
    """Shows the rows that are done, their speed and the time left, and passes the first stop signal on.

    If the output is not a terminal, each tenth of the rows and each minute prints one line.
    """

    _tenths = 0  #: of the rows, as last told

    def on_rows(self, progress: "RowProgress") -> None:
        facts = describe_rows(progress.done, progress.total, progress.per_second)
        what = _STOPPING if self._request.is_made else "Classifying"
        self._bar.update(self._task_id, description=what, completed=progress.done, total=progress.total, facts=facts)
        self._newest_line = f"Classifying: {facts}"
        before, self._tenths = self._tenths, progress.done * 10 // max(progress.total, 1)
        if self._tenths > before and progress.per_second:
            self._say(self._newest_line)


@contextmanager
def row_bar(console: Console) -> Iterator[RowBar]:
    """Show a bar on `console` until the block ends. The first stop signal is passed on, the second is raised."""
    with _make_bar(console) as bar:
        rows = RowBar(bar)
        with rows.listening(), rows.reminding():
            yield rows


def describe_rows(num_done: int, num_rows: int, rows_per_second: float | None) -> str:
    """List rows, speed and time left, as far as known."""
    facts = [f"{num_done:,}/{num_rows:,} rows"]
    if rows_per_second:
        facts.append(f"{rows_per_second:,.{0 if rows_per_second >= 10 else 1}f} rows/s")
        facts.append(f"{describe_seconds((num_rows - num_done) / rows_per_second)} left")
    return " · ".join(facts)


def _make_bar(console: Console, *, transient: bool = False) -> Bar:
    facts = TextColumn("{task.fields[facts]}")
    columns = (TextColumn("[bold]{task.description}"), BarColumn(bar_width=24), facts, TimeElapsedColumn())
    return Bar(*columns, console=console, disable=not console.is_terminal, transient=transient)


def describe_place(progress: Progress) -> str:
    """Name the phase, with its step if it has several."""
    name = PHASES[progress.phase]
    return f"{name} {progress.step}/{progress.steps}" if progress.steps > 1 else name


def describe_facts(progress: Progress) -> str:
    """List pairs, speed, time left and what to expect, as far as known."""
    facts = [f"{progress.pairs_done:,}/{progress.pairs_total:,} pairs"]
    if progress.tokens_per_second is not None:
        facts.append(f"{progress.tokens_per_second:,.0f} tokens/s")
    if progress.eta_seconds:
        facts.append(f"{describe_seconds(progress.eta_seconds)} left")
    return " · ".join([*facts, *filter(None, [progress.expectation])])


class _OnStderr(logging.Handler):
    """Writes to what stderr is now: while a bar is shown, that is a proxy which writes above the bar."""

    def emit(self, record: logging.LogRecord) -> None:
        if sys.stderr is not None:
            sys.stderr.write(f"{record.getMessage()}\n")


@contextmanager
def steps_on_stderr() -> Iterator[None]:
    """A context in which a line on stderr says what takes long while a model is opened."""
    logger, handler = logging.getLogger("lens_engine.model.local.steps"), _OnStderr()
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)
