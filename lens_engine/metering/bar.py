"""A progress bar on a terminal or in a notebook, for callers of the library who give no listener."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lens_engine.metering.progress import Progress, SelectionListener, SilentListener


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
    """Shows phase, tokens, speed, time left and the best accuracy so far."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._is_begun = False

    def on_progress(self, progress: Progress) -> None:
        steps = f" {progress.step}/{progress.steps}" if progress.steps > 1 else ""
        self._bar.set_description(f"{progress.phase.value}{steps}", refresh=False)
        self._bar.set_postfix_str(progress.best_accuracy, refresh=False)
        self._bar.total = max(progress.tokens_total, 1)
        if not self._is_begun:
            self._is_begun = True
            self._bar.initial = progress.tokens_done  # of an earlier attempt; no part of the speed
        self._bar.n = progress.tokens_done
        self._bar.refresh()

    def stop_requested(self) -> None:
        """Never asks for a stop."""
