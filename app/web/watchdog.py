"""Ends a process whose event loop is silent: whoever started it starts it again, and its clients are served.

Python runs no code while a C function, such as a pattern that takes for ever, holds the interpreter lock. A timer of
the kernel therefore counts the processor time of the process. A loop that waits takes none, so a thread counts its
seconds. Neither counts while the process or the machine stands still: after a pause the loop has its whole time again.
"""

import faulthandler
import signal
import sys
import threading

_DEBUGGERS = ("pdb", "pydevd", "debugpy")


class Watchdog:
    """Begins with the first call of `feed`; never if `seconds` is None."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds or 0.0
        self._silent_seconds = 0.0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="lens-watchdog", daemon=True)

    def feed(self) -> None:
        """Say that the loop is alive."""
        if not self._seconds:
            return
        if self._thread.ident is None:
            faulthandler.register(signal.SIGPROF, chain=True)  # writes where each thread is, before the process ends
            self._thread.start()
        self._silent_seconds = 0.0
        signal.setitimer(signal.ITIMER_PROF, self._seconds)

    def stop(self) -> None:
        self._stopping.set()
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _watch(self) -> None:
        pause = min(1.0, self._seconds / 4)
        while not self._stopping.wait(pause):
            self._silent_seconds += pause
            if self._silent_seconds > self._seconds and not any(name in sys.modules for name in _DEBUGGERS):
                signal.raise_signal(signal.SIGPROF)
