"""Embedded Postgres and Redis over one data directory."""

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from lens_cli.refusals import RefusedInput
from lens_cli.service.embedded.account import is_root
from lens_cli.service.embedded.child import Child
from lens_cli.service.embedded.postgres import PostgresServer
from lens_cli.service.embedded.redis import RedisServer

_MAX_SOCKET_PATH_BYTES = 100
"""Below the system limits for Unix sockets: 107 bytes on Linux, 103 on macOS."""


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
