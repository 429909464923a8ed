"""Outages of a real Postgres and a real Redis, as their clients see them."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import create_engine, make_url, pool, text

from app.settings import Settings


@contextmanager
def absent(settings: Settings) -> Iterator[None]:
    """A database that refuses connections and has cut those it had."""
    yield from _altered(settings, "ALLOW_CONNECTIONS false", "ALLOW_CONNECTIONS true")


@contextmanager
def read_only(settings: Settings) -> Iterator[None]:
    """A database that only reads, like a server that has become a standby."""
    yield from _altered(settings, "SET default_transaction_read_only = on", "RESET default_transaction_read_only")


@contextmanager
def frozen_backends(settings: Settings) -> Iterator[None]:
    """A Postgres whose processes for this database stand still, while its kernel acknowledges what it is sent."""
    engine = create_engine(make_url(settings.database_url).set(database="postgres"), poolclass=pool.NullPool)
    query = text("SELECT pid FROM pg_stat_activity WHERE datname = :name")
    with engine.connect() as connection:
        pids = connection.scalars(query, {"name": make_url(settings.database_url).database}).all()

    def send(number: signal.Signals) -> None:
        for pid in pids:
            os.kill(pid, number)

    send(signal.SIGSTOP)
    last_resort = threading.Timer(30, send, [signal.SIGCONT])  # so that a test fails and does not hang, too
    last_resort.start()
    try:
        yield
    finally:
        last_resort.cancel()
        send(signal.SIGCONT)


def _altered(settings: Settings, change: str, way_back: str) -> Iterator[None]:
    url = make_url(settings.database_url)
    engine = create_engine(url.set(database="postgres"), poolclass=pool.NullPool, isolation_level="AUTOCOMMIT")

    def run(statement: str) -> None:
        with engine.connect() as connection:
            connection.execute(text(statement), {"name": url.database})

    run(f"ALTER DATABASE {url.database} {change}")
    try:
        run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name")
        yield
    finally:
        run(f"ALTER DATABASE {url.database} {way_back}")
