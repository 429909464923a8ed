"""Real Postgres and Redis that can be crashed and started again over their data."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from redis import Redis

from lens_cli.service.embedded.postgres import PostgresServer
from lens_cli.service.embedded.servers import RedisServer, short_path


@dataclass(frozen=True, slots=True)
class Stores:
    """Both servers. Each keeps what it has confirmed through a crash."""

    postgres: PostgresServer
    redis: RedisServer
    folder: Path  #: of both; its path is short enough for sockets

    def connect(self) -> psycopg.Connection[tuple[object, ...]]:
        """A connection of the superuser.

        Raises:
            psycopg.OperationalError: Postgres is away.
        """
        return psycopg.connect(
            host=str(self.folder / "postgres"),
            user="postgres",
            dbname="lens",
            autocommit=True,
            connect_timeout=3,
            application_name="chaos",
            options="-c statement_timeout=10000",
        )

    def connect_redis(self) -> Redis:
        return Redis.from_url(self.redis.url, socket_timeout=3, socket_connect_timeout=3)


@contextmanager
def running_stores(folder: Path) -> Iterator[Stores]:
    """Start both over `folder`."""
    with short_path(folder) as short:
        stores = Stores(
            PostgresServer(short / "postgres", folder / "postgres.log", durable=True),
            RedisServer(short / "redis", folder / "redis.log", durable=True),
            short,
        )
        try:
            stores.postgres.start()
            stores.redis.start()
            yield stores
        finally:
            stores.redis.stop()
            stores.postgres.stop()
