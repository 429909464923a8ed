"""Real Postgres and Redis that can be crashed and started again over their data."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from redis import Redis

from lens_cli.service.embedded.postgres import PostgresServer
from lens_cli.service.embedded.redis import RedisServer


@dataclass(frozen=True, slots=True)
class Stores:
    """Both servers. Each keeps what it has confirmed through a crash."""

    postgres: PostgresServer
    redis: RedisServer
    sockets: Path

    @property
    def postgres_socket(self) -> Path:
        return self.sockets / "postgres" / ".s.PGSQL.5432"

    @property
    def redis_socket(self) -> Path:
        return self.sockets / "redis" / "redis.sock"

    def connect(self) -> psycopg.Connection[tuple[object, ...]]:
        """A connection past the proxies.

        Raises:
            psycopg.OperationalError: Postgres is away.
        """
        return psycopg.connect(
            host=str(self.postgres_socket.parent),
            user="lens",
            dbname="lens",
            autocommit=True,
            connect_timeout=3,
            application_name="chaos",
            options="-c statement_timeout=10000",
        )

    def connect_redis(self) -> Redis:
        return Redis(unix_socket_path=str(self.redis_socket), socket_timeout=3, socket_connect_timeout=3)


@contextmanager
def running_stores(folder: Path) -> Iterator[Stores]:
    """Start both over `folder`, with their sockets in a folder of a short name."""
    sockets = Path(tempfile.mkdtemp(prefix="lens-chaos-"))
    sockets.chmod(0o711)  # Postgres runs as another account under root
    for name in ("postgres", "redis"):
        (sockets / name).mkdir(mode=0o700)
    stores = Stores(
        PostgresServer(folder / "postgres", sockets / "postgres", folder / "postgres.log", durable=True),
        RedisServer(folder / "redis", sockets / "redis", folder / "redis.log", durable=True),
        sockets,
    )
    try:
        stores.postgres.start()
        stores.redis.start()
        yield stores
    finally:
        stores.redis.stop()
        stores.postgres.stop()
        shutil.rmtree(sockets, ignore_errors=True)
