"""Lens and the bare application as processes over the same Postgres."""

import contextlib
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from app.settings import Settings
from app.store.database import Database, create_database
from app.store.schema import upgrade_schema
from lens_cli.service.embedded import Child, ChildSpec, embedded_servers
from lens_cli.service.stack import find_free_port

_START_SECONDS = 90.0


@dataclass(frozen=True)
class Server:
    """A process that answers on a port of this machine."""

    name: str
    port: int
    pid: int

    def memory(self) -> int:
        """Memory of the process and its children (MiB)."""
        parent = psutil.Process(self.pid)
        return sum(one.memory_info().rss for one in (parent, *parent.children(recursive=True))) >> 20


@dataclass(frozen=True)
class Servers:
    """Both, and the database behind them."""

    lens: Server
    bare: Server
    database: Database
    settings: Settings


@contextmanager
def running_servers(folder: Path) -> Iterator[Servers]:
    """Start stores, Lens and the bare application, and stop them at the end."""
    with ExitStack() as stack:
        stores = stack.enter_context(embedded_servers(folder / "stores", durable=True))
        values = {"database_url": stores.database_url, "redis_url": stores.redis_url, "queue_name": "load"}
        settings = Settings.model_validate({**values, "_env_file": None})
        upgrade_schema(settings)
        database = create_database(settings, pool_size=2)
        stack.callback(database.dispose)
        of_service = {"database_url": stores.service_database_url, "redis_url": stores.service_redis_url}
        environment = {f"LENS_{name.upper()}": value for name, value in (values | of_service).items()}

        def start(name: str, path: str, *command: str) -> Server:
            port = find_free_port()
            arguments = [one.format(port=port) for one in command]
            spec = ChildSpec(name, [sys.executable, "-m", *arguments], folder / f"{name}.log", environment=environment)
            child = Child(spec)
            stack.callback(child.stop)
            deadline = time.monotonic() + _START_SECONDS
            while not _answers(f"http://127.0.0.1:{port}{path}"):
                child.check_alive()
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{name} does not answer")
                time.sleep(0.1)
            return Server(name, port, child.pid)

        serve = ("lens_cli", "serve", "--port", "{port}", "--drain-seconds", "0", "--max-connections", "4096")
        lens = start("lens", "/readyz", *serve)
        bare = start("bare", "/selections/none", "lab.benchmarks.load.bare", "{port}")
        yield Servers(lens, bare, database, settings)


def _answers(address: str) -> bool:
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(address).status_code == 200
    return False
