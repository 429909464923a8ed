"""Which signals the processes under test ignore, whatever this test run was started to ignore.

A process inherits the signals that its parent ignores. A shell's background job, nohup and some CI
systems start pytest with SIGINT or SIGHUP ignored.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_INHERITED = (signal.SIGINT, signal.SIGHUP)


@contextmanager
def default_signals() -> Iterator[None]:
    """SIGINT and SIGHUP are not ignored in the block; a process started in it has their defaults.

    An ignored signal gets a handler that does nothing: exec replaces a handler by the default.
    """
    ignored = [number for number in _INHERITED if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, _do_nothing)
    try:
        yield
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)


@contextmanager
def ignored_signals() -> Iterator[None]:
    """SIGINT and SIGHUP are ignored in the block, and by every process started in it."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _INHERITED}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    pass
