"""Embedded Postgres and Redis over one data directory."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from lens_cli.refusals import RefusedInput
from lens_cli.service.embedded.child import Child
from lens_cli.service.embedded.postgres import PostgresServer
from lens_cli.service.embedded.redis import RedisServer

_MAX_SOCKET_PATH_BYTES = 100
"""Below the system limits for Unix sockets: 107 bytes on Linux, 103 on macOS."""


@dataclass(frozen=True, slots=True)
class EmbeddedServers:
    """Two running servers."""

    database_url: str  #: for SQLAlchemy with psycopg 3
    redis_url: str
    children: tuple[Child, ...]


@contextmanager
def embedded_servers(data_dir: Path, *, durable: bool = True) -> Iterator[EmbeddedServers]:
    """Run Postgres and Redis over `data_dir` until the block ends. A missing `data_dir` is created.

    Both servers are children of this process and listen only on Unix sockets. On Linux they also end
    when this process is killed. On other systems the next run over the same directory stops them.
    `durable=False` is for tests and demonstrations: a crash then loses all data.

    Raises:
        Refusal: another process runs servers over `data_dir`.
        ChildFailed: a server did not start. The message contains the end of its log.
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
    """Lock the directory against other processes. The kernel releases the lock when this process ends."""
    with (data_dir / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            message = f"{data_dir} is in use by process {holder}; stop it or choose another data directory"
            raise RefusedInput(message) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


@contextmanager
def _socket_folders(data_dir: Path) -> Iterator[Path]:
    """Create empty folders for the sockets: in the data directory, or in the temporary one if paths get too long."""
    folder = data_dir / "run"
    if len(os.fsencode(folder / "postgres" / ".s.PGSQL.5432")) > _MAX_SOCKET_PATH_BYTES:
        folder = Path(tempfile.mkdtemp(prefix="lens-"))
        folder.chmod(0o711)  # Postgres runs as another account under root
    else:
        shutil.rmtree(folder, ignore_errors=True)
    try:
        for server in ("postgres", "redis"):
            (folder / server).mkdir(mode=0o700, parents=True)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
