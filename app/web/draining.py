"""A server that says so before it stops, that stops as asked, and that ends when its event loop is silent.

uvicorn closes its socket at SIGTERM at once. A balancer that has not yet looked at /readyz sends further requests, and
their clients see refused connections. uvicorn also ends the process by the signal.
"""

import faulthandler
import signal
import socket
import time
from contextlib import suppress
from threading import Event
from types import FrameType
from typing import Any

import uvicorn

_TICKS = 5  # of uvicorn, ten a second

_KEEP_ALIVE_SECONDS = 75
"""Longer than the pause between two polls of a client, and than the API keeps a connection that it does not use.
Uvicorn's default of 5 s cuts off polls."""

DRAINING = "draining"
"""Name of the flag in the state of each request (the lifespan state of ASGI): an `Event` of `threading`."""


def configure_server(app: Any, host: str, port: int, grace_seconds: int, **more: Any) -> uvicorn.Config:
    """How each process that serves HTTP is served. `more`: arguments of `uvicorn.Config`."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        http="h11",  # bounds the bytes of headers (64 KiB); httptools keeps all that are sent, without a key
        access_log=False,  # app/web/access_log.py logs requests
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=grace_seconds,
        server_header=False,
        **more,
    )


class DrainingServer(uvicorn.Server):
    """At SIGTERM, /readyz answers 503 for `drain_seconds` while all requests are served. Then uvicorn stops as usual.

    A second SIGTERM, or SIGINT, stops the server without the wait. If its loop is silent for `silent_seconds`, the
    process ends.
    """

    def __init__(self, config: uvicorn.Config, drain_seconds: float, silent_seconds: float | None = None) -> None:
        super().__init__(config)
        self._drain_seconds = drain_seconds
        self._silent_seconds = silent_seconds
        self._stop_at: float | None = None

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal, and return: uvicorn raises the signal again after it has stopped."""
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            with suppress(KeyboardInterrupt):
                super().run(sockets)
        finally:
            faulthandler.cancel_dump_traceback_later()
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
        if counter % _TICKS == 0:
            self._put_off_the_end()
        return await super().on_tick(counter)

    def _put_off_the_end(self) -> None:
        """A thread that is no Python ends the process: a pattern that takes for ever holds the interpreter lock."""
        if self._silent_seconds is not None:
            faulthandler.dump_traceback_later(self._silent_seconds, exit=True)
