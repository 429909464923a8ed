"""Faults of the stores, and of the network between one process and one store."""

import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress

import psutil

from tests.chaos.inflicted import FaultSkipped, Inflicted, freeze_all
from tests.chaos.proxy import CALM, Proxy, Weather
from tests.chaos.service import Member, Service

WEATHERS: Mapping[str, Weather] = {
    "cut": CALM,
    "slow": Weather(latency_seconds=0.4),
    "silence": Weather(is_silent=True),
    "refuse": Weather(is_refusing=True),
    "narrow": Weather(bytes_per_second=50_000),
    "linger": Weather(close_seconds=5.0),
}


def change_weather(service: Service, member: Member, proxy: Proxy, action: str) -> Inflicted:
    """Let this weather come over the way from the member to a store."""
    victim = None if member.is_api else service.find_victim(member)
    service.network.change(proxy, WEATHERS[action])
    if action in {"cut", "refuse"}:
        service.network.cut(proxy)
    return Inflicted(member.name, lambda: service.network.change(proxy, CALM), victim, member)


def _flush_redis(service: Service) -> Inflicted:
    with service.stores.connect_redis() as redis:
        redis.flushall()
    return Inflicted("Redis")


def _restart_redis(service: Service) -> Inflicted:
    server = service.stores.redis
    os.kill(server.child.pid, signal.SIGKILL)
    server.child.wait(10)
    return Inflicted("Redis", server.start)


def _freeze_redis(service: Service) -> Inflicted:
    return Inflicted("Redis", freeze_all([psutil.Process(service.stores.redis.child.pid)]))


def _crash_backend(service: Service) -> Inflicted:
    """Postgres cuts every session and recovers when one of its processes is killed."""
    with service.stores.connect() as connection:
        query = "SELECT pid FROM pg_stat_activity WHERE application_name = 'lens' ORDER BY random() LIMIT 1"
        found = connection.execute(query).fetchone()
    if found is None:
        raise FaultSkipped("no process is connected to Postgres")
    with suppress(ProcessLookupError):
        os.kill(int(str(found[0])), signal.SIGKILL)
    return Inflicted("Postgres")


def _restart_postgres(service: Service) -> Inflicted:
    """An immediate shutdown: no checkpoint, no farewell."""
    server = service.stores.postgres
    os.kill(server.child.pid, signal.SIGQUIT)
    server.child.wait(20)
    return Inflicted("Postgres", server.start)


def _freeze_postgres(service: Service) -> Inflicted:
    server = psutil.Process(service.stores.postgres.child.pid)
    return Inflicted("Postgres", freeze_all([server, *server.children(recursive=True)]))


OF_STORES: Mapping[str, Callable[[Service], Inflicted]] = {
    "flush-redis": _flush_redis,
    "restart-redis": _restart_redis,
    "freeze-redis": _freeze_redis,
    "crash-postgres-backend": _crash_backend,
    "restart-postgres": _restart_postgres,
    "freeze-postgres": _freeze_postgres,
}
"""By kind: what inflicts the fault on a store, for all processes."""
