"""Lens with several API processes and workers, each of which reaches each store through a proxy of its own."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
from rq import Worker as RqWorker

from app.schema import upgrade_schema
from app.settings import Settings
from lens_cli.service.stack import find_free_port
from tests.chaos.proxy import CALM, Network, Proxy
from tests.chaos.settings import MARK, environment_of_member, values_of
from tests.chaos.stores import Stores, running_stores
from tests.e2e.processes import Process, Worker
from tests.e2e.waiting import until

RESTART_SECONDS = 0.5
"""How long a supervisor waits before it starts an ended process again."""
_START_SECONDS = 90.0
_END_SECONDS = 5.0


@dataclass
class Member:
    """An API process or a worker, started again whenever it ends."""

    name: str
    arguments: list[str]
    environment: Mapping[str, str]
    log_path: Path
    postgres: Proxy
    redis: Proxy
    port: int | None = None  #: of an API process
    process: Process | None = None
    ended_at: float | None = None
    is_doomed: bool = False  #: a fault has ended it, or will
    surprises: list[str] = field(default_factory=list)  #: ends that no fault explains

    @property
    def is_api(self) -> bool:
        return self.port is not None

    @property
    def running(self) -> Process | None:
        return self.process if self.process is not None and self.process.exit_status is None else None

    @property
    def horse(self) -> psutil.Process | None:
        return self.process.horse if isinstance(self.process, Worker) else None

    def start(self) -> None:
        kind = Process if self.is_api else Worker
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
        if time.monotonic() - self.ended_at >= RESTART_SECONDS:
            self.start()

    def stop(self) -> None:
        if self.process is not None:
            self.process.stop()


@dataclass
class Service:
    """Everything that runs, and the means to disturb it."""

    folder: Path
    stores: Stores
    network: Network
    settings: Settings
    apis: list[Member]
    workers: list[Member]
    extra_environment: Mapping[str, str]  #: names what this run started

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

    def calm(self) -> None:
        """Mend the network."""
        for member in self.members:
            for proxy in (member.postgres, member.redis):
                self.network.change(proxy, CALM)

    def find_victim(self, worker: Member) -> str | None:
        """The selection that the worker runs, as far as Redis knows."""
        if worker.running is None or worker.horse is None:
            return None
        with suppress(Exception), self.stores.connect_redis() as redis:  # whatever the state of Redis is
            for known in RqWorker.all(connection=redis):
                if known.pid == worker.running.pid:
                    job_id = known.get_current_job_id()
                    return job_id.rpartition("-")[0] if job_id else None
        return None

    def find_leftovers(self) -> list[str]:
        """Processes of this run that stay. Children of a killed process notice its death and need time to end."""
        deadline = time.monotonic() + _END_SECONDS
        while (found := self._find_living()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return found

    def _find_living(self) -> list[str]:
        """Processes of this run that live, and are no zombies."""
        mark = self.extra_environment[MARK]
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                is_ours = process.pid != os.getpid() and process.environ().get(MARK) == mark
                if is_ours and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(f"{process.pid} {' '.join(process.cmdline())}")
        return found

    def _num_registered(self) -> int:
        with self.stores.connect_redis() as redis:
            return len(RqWorker.all(connection=redis))


@contextmanager
def running_service(folder: Path, num_apis: int, num_workers: int) -> Iterator[Service]:
    """Start stores, proxies, API processes and workers, and stop them at the end."""
    with ExitStack() as stack:
        stores = stack.enter_context(running_stores(folder))
        network = stack.enter_context(Network())
        mark = {MARK: folder.name}
        values = values_of(folder)
        settings = Settings.model_validate({**values, "database_url": stores.postgres.url, "_env_file": None})
        upgrade_schema(settings)

        def make(name: str, port: int | None) -> Member:
            postgres, redis = network.add(stores.postgres_socket), network.add(stores.redis_socket)
            environment = environment_of_member(values, folder, postgres.port, redis.port)
            command = ["-m", "tests.chaos.worker"]
            if port is not None:
                command = ["-m", "lens_cli", "serve", "--port", str(port), "--drain-seconds", "1"]
            return Member(name, command, {**environment, **mark}, folder / f"{name}.log", postgres, redis, port)

        apis = [make(f"api-{number}", find_free_port()) for number in range(num_apis)]
        workers = [make(f"worker-{number}", None) for number in range(num_workers)]
        service = Service(folder, stores, network, settings, apis, workers, mark)
        for member in service.members:
            stack.callback(member.stop)
        service.start_members()
        yield service


def _is_ready(address: str) -> bool:
    with suppress(httpx.TransportError):
        return httpx.get(f"{address}/readyz").status_code == 200
    return False
