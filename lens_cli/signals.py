"""Handlers for Ctrl-C (SIGINT), `kill` (SIGTERM) and a closed terminal (SIGHUP).

A shell starts a background job with SIGINT ignored, and nohup ignores SIGHUP. A signal that was ignored at the start
stays ignored. SIGTERM is always handled.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Handler = Callable[[int, FrameType | None], None]


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt in the block at the first stop signal.

    Later signals are ignored, so that the block's clean-up is not interrupted.
    """

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        for number in _STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    with _handling(interrupt):
        yield


class StopRequest:
    """A request to stop, made by the first stop signal. The second signal raises KeyboardInterrupt."""

    def __init__(self) -> None:
        self.is_made = False

    @contextmanager
    def listening(self, on_first: Callable[[], None]) -> Iterator[None]:
        """Handle stop signals in the block. The first signal sets `is_made` and calls `on_first`."""

        def request(_number: int, _frame: FrameType | None) -> None:
            if self.is_made:
                raise KeyboardInterrupt
            self.is_made = True
            on_first()

        with _handling(request):
            yield


@contextmanager
def _handling(handler: Handler) -> Iterator[None]:
    before = {
        number: signal.signal(number, handler)
        for number in _STOP_SIGNALS
        if number == signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
