"""A server that says so before it stops.

uvicorn closes its socket at SIGTERM at once. A balancer that has not yet looked at /readyz sends further requests, and
their clients see refused connections.
"""

import signal
import time
from threading import Event
from types import FrameType

import uvicorn

DRAINING = "draining"
"""Name of the flag in the state of each request (the lifespan state of ASGI): an `Event` of `threading`."""


class DrainingServer(uvicorn.Server):
    """At SIGTERM, /readyz answers 503 for `drain_seconds` while all requests are served. Then uvicorn stops as usual.

    A second SIGTERM, or SIGINT, stops the server without the wait.
    """

    def __init__(self, config: uvicorn.Config, drain_seconds: float) -> None:
        super().__init__(config)
        self._drain_seconds = drain_seconds
        self._stop_at: float | None = None

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
        return await super().on_tick(counter)
