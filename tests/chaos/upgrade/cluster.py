"""API processes and workers, each of one release at a time, over the same stores."""

import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from rq import Worker as RqWorker

from tests.chaos.stores import Stores
from tests.chaos.upgrade.releases import Release
from tests.e2e.processes import Process, Worker
from tests.e2e.waiting import until

_START_SECONDS = 180.0
_STOP_SECONDS = 90.0


@dataclass
class Instance:
    """One API process or worker. It keeps its name, and its port, through restarts."""

    name: str
    log_path: Path
    stores: Stores
    port: int | None = None  #: of an API process
    process: Process | None = None
    release: Release | None = None
    ended: list[str] = field(default_factory=list)  #: what each SIGTERM came to

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, release: Release) -> None:
        """Start it with this release."""
        self.release = release
        kind = Process if self.port is not None else Worker
        command = ["-m", "worker"] if self.port is None else ["-m", "lens_cli", "serve", "--port", str(self.port)]
        self.process = kind(self.name, command, release.environment, self.log_path)

    def wait_until_ready(self) -> None:
        what = f"{self.name} is ready; its log: {self.log_path}"
        until(self._is_ready if self.port is not None else self._is_registered, what, _START_SECONDS)

    def restart(self, release: Release) -> float:
        """SIGTERM, and a start with another release. How long it took until the process was ready (seconds)."""
        started = time.monotonic()
        assert self.process is not None
        assert self.process.exit_status is None, f"{self.name} ended by itself: {self.log_path}"
        status = self.process.terminate(_STOP_SECONDS)
        self.ended.append(f"{status} after {time.monotonic() - started:.1f} s")
        self.start(release)
        self.wait_until_ready()
        return time.monotonic() - started

    def stop(self) -> None:
        if self.process is not None:
            self.process.stop()

    def _is_ready(self) -> bool:
        return self.readiness() == 200

    def readiness(self) -> int | None:
        """Status of /readyz; None without an answer."""
        with suppress(httpx.TransportError):
            return httpx.get(f"{self.address}/readyz", timeout=10).status_code
        return None

    def _is_registered(self) -> bool:
        assert self.process is not None
        assert self.process.exit_status is None, f"{self.name} ended at its start: {self.log_path}"
        with self.stores.connect_redis() as redis:
            return any(worker.pid == self.process.pid for worker in RqWorker.all(connection=redis))
