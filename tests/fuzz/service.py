"""A real API process over real stores, with two owners."""

import contextlib
import hashlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import requests

from app.database import Database, create_database
from app.schema import upgrade_schema
from app.settings import Settings
from lens_cli.service.embedded import embedded_servers
from lens_cli.service.stack import find_free_port
from tests.e2e.processes import Process
from tests.e2e.stack import environment_of
from tests.e2e.waiting import until
from tests.open_files import list_open_files

OWNERS = ("ada", "ben")
_START_SECONDS = 90.0


def key_of(owner: str) -> str:
    """The API key of an owner."""
    return f"key-of-{owner}"


@dataclass(frozen=True)
class Service:
    """The process under test, and the means to look behind it."""

    settings: Settings
    address: str
    database: Database
    process: Process
    spool: Path

    def memory_bytes(self) -> int:
        """Memory of the API and its children; what they share is counted once (bytes)."""
        total = 0
        for process in self._processes():
            with contextlib.suppress(psutil.Error):
                total += process.memory_full_info().pss
        return total

    def spooled(self) -> list[str]:
        """Files of uploads, also those without a name that a process holds open."""
        files = [path.name for path in self.spool.iterdir()]
        for process in self._processes():
            with contextlib.suppress(OSError):
                files += [target for target in list_open_files(process.pid) if target.startswith(str(self.spool))]
        return files

    def _processes(self) -> list[psutil.Process]:
        """The API and its children."""
        with contextlib.suppress(psutil.Error):
            parent = psutil.Process(self.process.pid)
            return [parent, *parent.children(recursive=True)]
        return []


@contextmanager
def running_service(folder: Path) -> Iterator[Service]:
    """Start stores and API, and stop them at the end."""
    with ExitStack() as stack:
        stores = stack.enter_context(embedded_servers(folder / "stores", durable=False))
        spool = folder / "spool"
        spool.mkdir()
        values: dict[str, object] = {
            "database_url": stores.database_url,
            "redis_url": stores.redis_url,
            "queue_name": "fuzz",
            "lease_seconds": 86_400,  # what the run brings into a state stays there
            "lease_renew_seconds": 60,
            "spool_dir": str(spool),
            "rate_requests": None,
            "rate_submissions": None,
            "api_keys": {hashlib.sha256(key_of(owner).encode()).hexdigest(): owner for owner in OWNERS},
        }
        settings = Settings.model_validate({**values, "_env_file": None})
        upgrade_schema(settings)
        database = create_database(settings, pool_size=2)
        stack.callback(database.dispose)
        port = find_free_port()
        arguments = ["-m", "lens_cli", "serve", "--port", str(port), "--drain-seconds", "0"]
        api = Process("API", arguments, environment_of(values), folder / "api.log")
        stack.callback(api.stop)
        service = Service(settings, f"http://127.0.0.1:{port}", database, api, spool)
        until(lambda: _is_ready(service), "the API answers", _START_SECONDS)
        yield service


def _is_ready(service: Service) -> bool:
    assert service.process.exit_status is None, service.process.log()
    with contextlib.suppress(requests.ConnectionError):
        return requests.get(f"{service.address}/readyz", timeout=10).status_code == 200
    return False
