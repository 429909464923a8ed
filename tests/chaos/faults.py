"""What each kind of fault does to the service, and how it is mended."""

import os
import resource
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.chaos.proxy import CALM, Proxy, Weather
from tests.chaos.schedule import PlannedFault
from tests.chaos.service import Member, Service

Mend = Callable[[], None]

_FULL_DISK_BYTES = 4096
_FAKETIME = ("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1", "/usr/lib/faketime/libfaketime.so.1")


class FaultSkipped(Exception):
    """The fault cannot be had now or on this machine. The message says why."""


@dataclass(frozen=True, slots=True)
class Inflicted:
    """A fault under way. `mend` ends it; None for a fault that is over at once."""

    where: str
    mend: Mend | None = None
    victim: str | None = None  #: id of the selection that the disturbed worker ran
    member: Member | None = None


def inflict(service: Service, fault: PlannedFault) -> Inflicted:
    """Begin the fault.

    Raises:
        FaultSkipped: there is nothing that can have the fault.
    """
    action, _, place = fault.kind.partition("-")
    if fault.kind in _STORES:
        return _STORES[fault.kind](service)
    if action in _WEATHERS:
        member = service.members[fault.place % len(service.members)]
        return _change_weather(service, member, member.postgres if place == "postgres" else member.redis, action)
    members = service.apis if "api" in place else service.workers
    return _MACHINES[fault.kind](service, members[fault.place % len(members)])


def find_missing() -> dict[str, str]:
    """Kinds of faults that this machine cannot have, and why."""
    if any(Path(file).exists() for file in _FAKETIME):
        return {}
    return {"step-worker-clock": "libfaketime is not installed"}


# Processes.


def _kill(service: Service, member: Member) -> Inflicted:
    return _end(service, member, signal.SIGKILL)


def _terminate(service: Service, member: Member) -> Inflicted:
    return _end(service, member, signal.SIGTERM)


def _end(service: Service, member: Member, number: signal.Signals) -> Inflicted:
    victim = service.find_victim(member)
    process = member.running
    if process is None:
        raise FaultSkipped(f"{member.name} is not running")
    member.is_doomed = True
    process.send(number)
    return Inflicted(member.name, victim=victim, member=member)


def _freeze(service: Service, member: Member) -> Inflicted:
    victim = service.find_victim(member)
    if member.running is None:
        raise FaultSkipped(f"{member.name} is not running")
    return Inflicted(member.name, _freeze_all([psutil.Process(member.running.pid)]), victim, member)


def _kill_horse(service: Service, member: Member) -> Inflicted:
    victim, horse = service.find_victim(member), _horse_of(member)
    with suppress(psutil.NoSuchProcess):
        horse.kill()
    return Inflicted(member.name, victim=victim, member=member)


def _freeze_horse(service: Service, member: Member) -> Inflicted:
    victim, horse = service.find_victim(member), _horse_of(member)
    return Inflicted(member.name, _freeze_all([horse]), victim, member)


def _horse_of(member: Member) -> psutil.Process:
    if member.horse is None:
        raise FaultSkipped(f"{member.name} has no work-horse")
    return member.horse


def _freeze_all(processes: list[psutil.Process]) -> Mend:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.suspend()

    def mend() -> None:
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.resume()

    return mend


# The network.

_WEATHERS: Mapping[str, Weather] = {
    "cut": CALM,
    "slow": Weather(latency_seconds=0.4),
    "silence": Weather(is_silent=True),
    "refuse": Weather(is_refusing=True),
    "narrow": Weather(bytes_per_second=50_000),
    "linger": Weather(close_seconds=5.0),
}


def _change_weather(service: Service, member: Member, proxy: Proxy, action: str) -> Inflicted:
    victim = None if member.is_api else service.find_victim(member)
    service.network.change(proxy, _WEATHERS[action])
    if action in {"cut", "refuse"}:
        service.network.cut(proxy)
    return Inflicted(member.name, lambda: service.network.change(proxy, CALM), victim, member)


# The stores.


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
    return Inflicted("Redis", _freeze_all([psutil.Process(service.stores.redis.child.pid)]))


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
    return Inflicted("Postgres", _freeze_all([server, *server.children(recursive=True)]))


# The machines.


def _fill_disk(service: Service, member: Member) -> Inflicted:
    """Files of the process cannot grow, as on a full disk, though the error is another: EFBIG for ENOSPC."""
    if member.running is None:
        raise FaultSkipped(f"{member.name} is not running")
    victim = service.find_victim(member)
    processes = list(_with_children(member))
    for process in processes:
        _limit_files(process, _FULL_DISK_BYTES)
    return Inflicted(
        member.name, lambda: [_limit_files(one, resource.RLIM_INFINITY) for one in processes] and None, victim, member
    )


def _with_children(member: Member) -> Iterator[psutil.Process]:
    assert member.running is not None
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(member.running.pid)
        yield process
        yield from process.children()


def _limit_files(process: psutil.Process, num_bytes: int) -> None:
    with suppress(psutil.NoSuchProcess):
        process.rlimit(resource.RLIMIT_FSIZE, (num_bytes, resource.RLIM_INFINITY))


def _step_clock(service: Service, member: Member) -> Inflicted:
    """The worker is started again with a clock that is an hour ahead."""
    library = next((file for file in _FAKETIME if Path(file).exists()), None)
    if library is None:
        raise FaultSkipped(find_missing()["step-worker-clock"])
    before = dict(member.environment)
    member.environment = {**before, "LD_PRELOAD": library, "FAKETIME": "+1h", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    done = _end(service, member, signal.SIGTERM)

    def mend() -> None:
        member.environment = before
        with suppress(FaultSkipped):
            _end(service, member, signal.SIGTERM)

    return Inflicted(member.name, mend, done.victim, member)


_MACHINES: Mapping[str, Callable[[Service, Member], Inflicted]] = {
    "kill-worker": _kill,
    "kill-api": _kill,
    "kill-horse": _kill_horse,
    "freeze-worker": _freeze,
    "freeze-api": _freeze,
    "freeze-horse": _freeze_horse,
    "terminate-worker": _terminate,
    "terminate-api": _terminate,
    "fill-api-disk": _fill_disk,
    "fill-worker-disk": _fill_disk,
    "step-worker-clock": _step_clock,
}
_STORES: Mapping[str, Callable[[Service], Inflicted]] = {
    "flush-redis": _flush_redis,
    "restart-redis": _restart_redis,
    "freeze-redis": _freeze_redis,
    "crash-postgres-backend": _crash_backend,
    "restart-postgres": _restart_postgres,
    "freeze-postgres": _freeze_postgres,
}
