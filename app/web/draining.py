"""A server that says so before it stops, that stops as asked, and that ends when its event loop is silent.

uvicorn closes its socket at SIGTERM at once. A balancer that has not yet looked at /readyz sends further requests, and
their clients see refused connections. uvicorn also waits for clients that do not read their answers, and ends the
process by the signal.

Whoever started a process that ended starts it again. Python runs no code while a C function, such as a pattern that
takes for ever, holds the interpreter lock. A timer of the kernel therefore counts the processor time of the process. A
loop that waits takes none, so a thread counts its seconds. Neither counts while the process or the machine stands
still: after a pause the loop has its whole time again.
"""

import asyncio
import faulthandler
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from threading import Event
from types import FrameType

import uvicorn

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


READER_SECONDS = 5.0
"""Time in which a client takes something of its answer while the server stops. Others are cut off."""

_LOOK_SECONDS = 0.5

DRAINING = "draining"
"""Name of the flag in the state of each request (the lifespan state of ASGI): an `Event` of `threading`."""


class DrainingServer(uvicorn.Server):
    """At SIGTERM, /readyz answers 503 for `drain_seconds` while all requests are served. Then uvicorn stops as usual.

    A second SIGTERM, or SIGINT, stops the server without the wait. If its loop is silent for `silent_seconds`, the
    process ends.
    """

    def __init__(self, config: uvicorn.Config, drain_seconds: float, silent_seconds: float | None = None) -> None:
        super().__init__(config)
        self._drain_seconds = drain_seconds
        self._watchdog = Watchdog(silent_seconds)
        self._stop_at: float | None = None

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal, and return: uvicorn raises the signal again after it has stopped."""
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            with suppress(KeyboardInterrupt):
                super().run(sockets)
        finally:
            self._watchdog.stop()
            signal.signal(signal.SIGTERM, before)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to drain, or stop."""
        if self.started:
            draining: Event = self.lifespan.state[DRAINING]
            draining.set()
        if sig == signal.SIGTERM and self.started and self._stop_at is None and self._drain_seconds > 0:
            self._stop_at = time.monotonic() + self._drain_seconds
        else:
            super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        """Stop when the time is over. uvicorn calls this ten times a second."""
        if self._stop_at is not None and not self.should_exit and time.monotonic() >= self._stop_at:
            super().handle_exit(signal.SIGTERM, None)
        self._watchdog.feed()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish the requests that were begun, but wait for no client that does not read."""
        cutting = asyncio.create_task(self._cut_off_idle_readers())
        try:
            await super().shutdown(sockets)
        finally:
            cutting.cancel()

    async def _cut_off_idle_readers(self) -> None:
        """A client that reads makes the part of its answer that waits here smaller or, when it is empty, new."""
        waiting = dict[asyncio.Transport, tuple[int, float]]()
        while True:
            self._watchdog.feed()
            now = time.monotonic()
            found = {one.transport: one.transport.get_write_buffer_size() for one in self.server_state.connections}
            waiting = {
                transport: waiting[transport] if waiting.get(transport, (0, 0.0))[0] == size else (size, now)
                for transport, size in found.items()
                if size > 0
            }
            for transport, (_, since) in waiting.items():
                if now - since >= READER_SECONDS:
                    transport.abort()
            await asyncio.sleep(_LOOK_SECONDS)
