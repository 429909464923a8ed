"""The service's real processes: uvicorn and `python -m worker`, as children that die with the test run."""

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import httpx
import psutil

from lens_cli.service.embedded.child import Child, ChildSpec
from tests.e2e.waiting import until

ROOT = Path(__file__).parents[2]


class Process:
    """One of our commands, running in a session of its own, with its output in a file."""

    def __init__(self, name: str, arguments: list[str], environment: Mapping[str, str], log_path: Path) -> None:
        self._child = Child(
            ChildSpec(
                name=name,
                command=[sys.executable, *arguments],
                log_path=log_path,
                environment={"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **environment},
            )
        )

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def exit_status(self) -> int | None:
        return self._child.exit_status

    def send(self, signal_number: signal.Signals) -> None:
        os.kill(self.pid, signal_number)

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        self.send(signal.SIGKILL)
        self._child.wait(10)

    def terminate(self, seconds: float) -> int:
        """SIGTERM; its exit status, or TimeoutExpired when it does not end within `seconds`."""
        self.send(signal.SIGTERM)
        return self._child.wait(seconds)

    def wait(self, seconds: float) -> int:
        return self._child.wait(seconds)

    def stop(self) -> None:
        """End it in whatever state it is, a stopped one too."""
        if self.exit_status is None:
            self.kill()

    def log(self) -> str:
        return self._child.spec.log_path.read_text()


class Worker(Process):
    """`python -m worker`."""

    @property
    def horse(self) -> psutil.Process | None:
        """The work-horse of the job under way, if there is one."""
        try:
            children = psutil.Process(self.pid).children()
        except psutil.NoSuchProcess:
            return None
        return children[0] if children else None

    def wait_for_horse(self) -> psutil.Process:
        return until(lambda: self.horse, "the worker forks a work-horse")


def is_gone(process: psutil.Process) -> bool:
    """Dead, or a zombie that nobody has reaped yet."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def status_at(port: int, path: str) -> int | None:
    """None if the process takes no connection."""
    try:
        return httpx.get(f"http://127.0.0.1:{port}{path}", timeout=5).status_code
    except httpx.TransportError:
        return None


def start_api(environment: Mapping[str, str], port: int, log_path: Path) -> Process:
    """An API process, once it is ready."""
    api = Process(
        "API", ["-m", "lens_cli", "serve", "--port", str(port), "--drain-seconds", "0"], environment, log_path
    )
    until(lambda: api.exit_status is not None or status_at(port, "/readyz") == 200, "the API answers")
    assert api.exit_status is None, api.log()
    return api
