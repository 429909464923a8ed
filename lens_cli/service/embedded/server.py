"""What Postgres and Redis from a wheel have in common."""

import time
from pathlib import Path
from typing import ClassVar

from lens_cli.service.embedded.child import Child, ChildFailed, ChildSpec

_START_SECONDS = 60.0


class EmbeddedServer:
    """One server over `data_dir`, with its socket in `socket_dir`.

    `durable` keeps what is written through a crash; without it the server is faster.
    """

    name: ClassVar[str]

    def __init__(self, data_dir: Path, socket_dir: Path, log_path: Path, *, durable: bool) -> None:
        self._data_dir = data_dir
        self._socket_dir = socket_dir
        self._log_path = log_path
        self._durable = durable
        self._child: Child | None = None

    @property
    def child(self) -> Child:
        """
        Raises:
            ChildFailed: the server has not been started.
        """
        if self._child is None:
            raise ChildFailed(f"{self.name} has not been started")
        return self._child

    def stop(self) -> None:
        if self._child is not None:
            self._child.stop()

    def _find_fault(self) -> str | None:
        """Why the server does not answer; None if it does."""
        raise NotImplementedError

    def _run(self, spec: ChildSpec) -> None:
        """Start the program, and wait until it answers.

        Raises:
            ChildFailed: it ended, or did not answer in time.
        """
        self._child = Child(spec)
        deadline = time.monotonic() + _START_SECONDS
        while (fault := self._find_fault()) is not None:
            self._child.check_alive()
            if time.monotonic() > deadline:
                raise ChildFailed(f"{self.name} did not answer in {_START_SECONDS:.0f} s: {fault}")
            time.sleep(0.02)
