"""Postgres and Redis together over one data directory."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.embedded.child import Child
from app.embedded.postgres import PostgresServer
from app.embedded.redis import RedisServer

_MAX_SOCKET_PATH_BYTES = 100
"""Unix sockets have paths of at most 107 bytes on Linux and 103 on macOS."""


class DirectoryInUse(RuntimeError):
    """Another process runs servers over this data directory."""


@dataclass(frozen=True, slots=True)
class EmbeddedServers:
    """Two running servers."""

    database_url: str  #: for SQLAlchemy with psycopg 3
    redis_url: str
    children: tuple[Child, ...]

    def check_alive(self) -> None:
        """
        Raises:
            ChildFailed: one of them has ended; the message says which.
        """
        for child in self.children:
            child.check_alive()


@contextmanager
def embedded_servers(data_dir: Path, *, durable: bool = True) -> Iterator[EmbeddedServers]:
    """Run a real Postgres and a real Redis over `data_dir`, which is made if need be, until the block ends.

    Both are children of this process, listen on Unix sockets only, and are stopped when the block is
    left. On Linux they also end when this process is killed; elsewhere the next run over the same
    directory ends them. With `durable` False nothing survives a crash: for tests and demonstrations.

    Raises:
        DirectoryInUse: another process has servers over `data_dir`.
        ChildFailed: a server did not start; the message holds the end of its log.
    """
    data_dir = data_dir.expanduser().resolve()
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as stack:
        stack.enter_context(_hold(data_dir))
        sockets = stack.enter_context(_socket_folders(data_dir))
        postgres = PostgresServer(
            data_dir / "postgres", sockets / "postgres", data_dir / "postgres.log", durable=durable
        )
        stack.callback(postgres.stop)
        postgres.start()
        redis = RedisServer(data_dir / "redis", sockets / "redis", data_dir / "redis.log", durable=durable)
        stack.callback(redis.stop)
        redis.start()
        yield EmbeddedServers(postgres.url, redis.url, (postgres.child, redis.child))


@contextmanager
def _hold(data_dir: Path) -> Iterator[None]:
    """Keep others out; the kernel lets go of the lock when this process ends, however it does."""
    with (data_dir / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            raise DirectoryInUse(
                f"{data_dir} is in use by process {holder}; stop it or choose another data directory"
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


@contextmanager
def _socket_folders(data_dir: Path) -> Iterator[Path]:
    """Fresh folders for the sockets: in the data directory, or in the system's where its path is too long."""
    folder = data_dir / "run"
    if len(os.fsencode(folder / "postgres" / ".s.PGSQL.5432")) > _MAX_SOCKET_PATH_BYTES:
        folder = Path(tempfile.mkdtemp(prefix="lens-"))
    shutil.rmtree(folder, ignore_errors=True)
    try:
        for server in ("postgres", "redis"):
            (folder / server).mkdir(mode=0o700, parents=True)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
