"""Lens with several API processes and workers."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
from rq import Worker as RqWorker

from app.settings import Settings
from app.store.database import opened_database
from app.store.schema import upgrade_schema
from tests.api_keys import make_keys
from tests.chaos.config import MARK, OWNERS, settings_of
from tests.chaos.stores import Stores, running_stores
from tests.e2e.processes import Process, Worker
from tests.e2e.stack import environment_of
from tests.e2e.waiting import until
from tests.ports import reserve_port

_RESTART_SECONDS = 0.5  # as long as a supervisor waits
_START_SECONDS = 90.0
_END_SECONDS = 5.0


@dataclass
class Member:
    """An API process or a worker, started again whenever it ends."""

    name: str
    arguments: list[str]
    environment: Mapping[str, str]
    log_path: Path
    port: int | None = None  #: of an API process
    process: Process | None = None
    ended_at: float | None = None
    is_doomed: bool = False  #: a fault has ended it, or will
    surprises: list[str] = field(default_factory=list)  #: ends that no fault explains

    @property
    def running(self) -> Process | None:
        return self.process if self.process is not None and self.process.exit_status is None else None

    @property
    def horse(self) -> psutil.Process | None:
        return self.process.horse if isinstance(self.process, Worker) else None

    def start(self) -> None:
        kind = Worker if self.port is None else Process
        self.process = kind(self.name, self.arguments, self.environment, self.log_path)
        self.ended_at, self.is_doomed = None, False

    def revive(self) -> None:
        """What a supervisor does: start the process again, some time after it ended."""
        if self.process is None or self.process.exit_status is None:
            return
        if self.ended_at is None:
            self.ended_at = time.monotonic()
            if not self.is_doomed:
                self.surprises.append(f"{self.name} ended by itself with {self.process.exit_status}")
        if time.monotonic() - self.ended_at >= _RESTART_SECONDS:
            self.start()

    def stop(self) -> None:
        if self.process is not None:
            self.process.stop()


@dataclass
class Service:
    """Everything that runs, and the means to disturb it."""

    stores: Stores
    apis: list[Member]
    workers: list[Member]
    mark: str  #: names the run in the environment of its processes

    @property
    def members(self) -> list[Member]:
        return [*self.apis, *self.workers]

    @property
    def addresses(self) -> list[str]:
        return [f"http://127.0.0.1:{api.port}" for api in self.apis]

    def start_members(self) -> None:
        for member in self.members:
            member.start()
        for address in self.addresses:
            until(lambda: _is_ready(address), f"{address} answers", _START_SECONDS)  # noqa: B023
        until(lambda: self._num_registered() == len(self.workers), "the workers wait for jobs", _START_SECONDS)

    def revive(self) -> None:
        for member in self.members:
            member.revive()

    def find_leftovers(self) -> list[str]:
        """Processes of this run that stay. Children of a killed process notice its death and need time to end."""
        deadline = time.monotonic() + _END_SECONDS
        while (found := self._find_living()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return found

    def _find_living(self) -> list[str]:
        """Processes of this run that live, and are no zombies."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                is_ours = process.pid != os.getpid() and process.environ().get(MARK) == self.mark
                if is_ours and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(f"{process.pid} {' '.join(process.cmdline())}")
        return found

    def _num_registered(self) -> int:
        with self.stores.connect_redis() as redis:
            return len(RqWorker.all(connection=redis))


@contextmanager
def running_service(folder: Path, num_apis: int, num_workers: int) -> Iterator[Service]:
    """Start stores, API processes and workers, and stop them at the end."""
    with ExitStack() as stack:
        stores = stack.enter_context(running_stores(folder))
        values = settings_of(folder)
        settings = Settings.model_validate({**values, "database_url": stores.postgres.url, "_env_file": None})
        upgrade_schema(settings)
        with opened_database(settings) as database:
            make_keys(database, *OWNERS)

        def make(name: str, port: int | None, command: list[str]) -> Member:
            environment = {
                **environment_of(values),
                "LENS_DATABASE_URL": stores.postgres.service_url,
                "LENS_REDIS_URL": stores.redis.service_url,
                "TMPDIR": str(folder / "tmp"),
                "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),  # torch makes one and keeps it
                MARK: folder.name,
            }
            return Member(name, command, environment, folder / f"{name}.log", port)

        def make_api(number: int) -> Member:
            port = reserve_port()
            return make(f"api-{number}", port, ["-m", "lens_cli", "serve", "--port", str(port), "--drain-seconds", "1"])

        apis = [make_api(number) for number in range(num_apis)]
        workers = [make(f"worker-{number}", None, ["-m", "tests.chaos.worker"]) for number in range(num_workers)]
        service = Service(stores, apis, workers, folder.name)
        for member in service.members:
            stack.callback(member.stop)
        service.start_members()
        yield service


def _is_ready(address: str) -> bool:
    with suppress(httpx.TransportError):
        return httpx.get(f"{address}/readyz").status_code == 200
    return False
