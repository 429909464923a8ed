"""What clients may meet during an upgrade: the only requests without an answer are those to a process that restarts."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from tests.chaos.history import History


@dataclass
class UpgradeHistory(History):
    """Knows which process is being restarted."""

    restarting: set[int] = field(default_factory=set)  #: ports

    def note_silence(self, action: str, error: httpx.TransportError) -> None:
        super().note_silence(action, error)
        port = error.request.url.port
        if port not in self.restarting:
            detail = f"{action} got no answer from a process that was not restarted ({type(error).__name__})"
            self.violate("I10", detail, str(port))

    @contextmanager
    def restart_of(self, port: int) -> Iterator[None]:
        """The process on this port may refuse connections."""
        self.restarting.add(port)
        yield
        self.restarting.discard(port)
