"""What Ctrl-C, `kill` and a closed terminal do.

A shell's background job is started with SIGINT ignored, and nohup ignores SIGHUP. A signal that was ignored
at the start stays ignored. SIGTERM is always handled.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Handler = Callable[[int, FrameType | None], None]


@contextmanager
def interruptible() -> Iterator[None]:
    """Let each of the stop signals end the block by KeyboardInterrupt.

    Only the first one counts: what the block takes down on its way out is taken down in peace.
    """

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        for number in _STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    with _handling(interrupt):
        yield


class StopRequest:
    """Set by the first stop signal; the second one is a KeyboardInterrupt."""

    def __init__(self) -> None:
        self.is_made = False

    @contextmanager
    def listening(self, on_first: Callable[[], None]) -> Iterator[None]:
        def request(_number: int, _frame: FrameType | None) -> None:
            if self.is_made:
                raise KeyboardInterrupt
            self.is_made = True
            on_first()

        with _handling(request):
            yield


@contextmanager
def _handling(handler: Handler) -> Iterator[None]:
    handled = [number for number in _STOP_SIGNALS if number == signal.SIGTERM or not _is_ignored(number)]
    before = {number: signal.signal(number, handler) for number in handled}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def _is_ignored(number: signal.Signals) -> bool:
    return signal.getsignal(number) is signal.SIG_IGN
