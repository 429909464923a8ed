"""The table of faults. A row says how often a fault comes, what it disturbs, and which function begins it."""

import os
import resource
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import psutil
from redis.exceptions import RedisError

from lens_cli.service.embedded.postgres import PostgresServer
from lens_cli.service.embedded.servers import RedisServer
from tests.chaos.service import Member
from tests.chaos.stores import Stores

_FULL_DISK_BYTES = 4096
Mend = Callable[[], None]


class FaultSkipped(Exception):
    """The fault is impossible now. The message says why."""


@dataclass(frozen=True, slots=True)
class Fault:
    """`begin` returns how the fault is mended; None for one that is over immediately. It may raise FaultSkipped."""

    weight: float  #: how often it comes, in proportion to the others
    place: str  #: worker, api, member (any of both), postgres or redis
    begin: Callable[..., Mend | None]  #: takes the stores, or a Member that has the fault


def _end(number: signal.Signals, member: Member) -> None:
    member.is_doomed = True
    _process_of(member).send_signal(number)


def _freeze(member: Member) -> Mend:
    return _suspend([_process_of(member)])


def _kill_horse(member: Member) -> None:
    with suppress(psutil.NoSuchProcess):
        _horse_of(member).kill()


def _fill_disk(member: Member) -> Mend:
    """Files of the process cannot grow, as on a full disk, though the error is another: EFBIG for ENOSPC."""
    process = _process_of(member)
    with suppress(psutil.NoSuchProcess):
        processes = [process, *process.children()]
    return _each(processes, partial(_limit_files, _FULL_DISK_BYTES), partial(_limit_files, resource.RLIM_INFINITY))


def _cut_redis(stores: Stores) -> None:
    with stores.connect_redis() as redis:
        for kind in ("normal", "pubsub"):
            redis.client_kill_filter(_type=kind, skipme=True)


def _flush_redis(stores: Stores) -> None:
    with stores.connect_redis() as redis:
        redis.flushall()


def _refuse_writes(stores: Stores) -> Mend:
    """Redis answers every write with an error: it has no memory left, and may evict nothing."""

    def limit(num_bytes: int) -> None:
        with suppress(RedisError), stores.connect_redis() as redis:  # a restart mends it too
            redis.config_set("maxmemory", num_bytes)

    limit(1)
    return partial(limit, 0)


def _cut_postgres(stores: Stores) -> None:
    with stores.connect() as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'lens'")


def _refuse_sessions(stores: Stores) -> Mend:
    """Postgres cuts what is connected, and has no connection for anybody."""

    def limit(number: str) -> None:
        with stores.connect() as connection:
            connection.execute(f"ALTER ROLE lens CONNECTION LIMIT {number}")

    limit("0")
    _cut_postgres(stores)
    return partial(limit, "-1")


def _crash_session(stores: Stores) -> None:
    """Postgres cuts every session and recovers when one of its processes is killed."""
    with suppress(psutil.NoSuchProcess):
        _session_of(stores).kill()


def _freeze_session(stores: Stores) -> Mend:
    """One session of one process is silent, as where the network between the two loses all."""
    return _suspend([_session_of(stores)])


def _restart(place: str, number: signal.Signals, stores: Stores) -> Mend:
    """Of Redis or Postgres; with SIGQUIT Postgres shuts down immediately: no checkpoint, no farewell."""
    server: PostgresServer | RedisServer = getattr(stores, place)
    os.kill(server.child.pid, number)
    server.child.wait(20)
    return server.start


def _freeze_postgres(stores: Stores) -> Mend:
    server = psutil.Process(stores.postgres.child.pid)
    return _suspend([server, *server.children(recursive=True)])


def _session_of(stores: Stores) -> psutil.Process:
    with stores.connect() as connection:
        query = "SELECT pid FROM pg_stat_activity WHERE usename = 'lens' ORDER BY random() LIMIT 1"
        found = connection.execute(query).fetchone()
    if found is None:
        raise FaultSkipped("no process is connected to Postgres")
    return psutil.Process(int(str(found[0])))


def _process_of(member: Member) -> psutil.Process:
    process = member.running  # read once, because it may end at any moment
    if process is not None:
        with suppress(psutil.NoSuchProcess):
            return psutil.Process(process.pid)
    raise FaultSkipped(f"{member.name} is not running")


def _horse_of(member: Member) -> psutil.Process:
    horse = member.horse
    if horse is None:
        raise FaultSkipped(f"{member.name} has no work-horse")
    return horse


def _suspend(processes: Sequence[psutil.Process]) -> Mend:
    return _each(processes, psutil.Process.suspend, psutil.Process.resume)


def _each(
    processes: Sequence[psutil.Process], begin: Callable[[psutil.Process], None], end: Callable[[psutil.Process], None]
) -> Mend:
    """Do it to each process that lives; the returned function undoes it."""

    def act(change: Callable[[psutil.Process], None]) -> None:
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                change(process)

    act(begin)
    return partial(act, end)


def _limit_files(num_bytes: int, process: psutil.Process) -> None:
    process.rlimit(resource.RLIMIT_FSIZE, (num_bytes, resource.RLIM_INFINITY))


_kill, _terminate = partial(_end, signal.SIGKILL), partial(_end, signal.SIGTERM)

FAULTS: Mapping[str, Fault] = {
    # Processes: SIGKILL, SIGSTOP with a later SIGCONT, and SIGTERM. Whatever ends is started again.
    "kill-worker": Fault(3, "worker", _kill),
    "kill-horse": Fault(3, "worker", _kill_horse),
    "kill-api": Fault(2, "api", _kill),
    "freeze-worker": Fault(2, "worker", _freeze),
    "freeze-horse": Fault(2, "worker", lambda member: _suspend([_horse_of(member)])),
    "freeze-api": Fault(1, "api", _freeze),
    "terminate-worker": Fault(2, "worker", _terminate),
    "terminate-api": Fault(1, "api", _terminate),
    "fill-disk": Fault(2, "member", _fill_disk),
    # The stores, for all processes or for one session. A store has one of these at a time.
    "cut-redis": Fault(2, "redis", _cut_redis),
    "flush-redis": Fault(1, "redis", _flush_redis),
    "restart-redis": Fault(1, "redis", partial(_restart, "redis", signal.SIGKILL)),
    "freeze-redis": Fault(1, "redis", lambda stores: _suspend([psutil.Process(stores.redis.child.pid)])),
    "refuse-writes-redis": Fault(2, "redis", _refuse_writes),
    "cut-postgres": Fault(2, "postgres", _cut_postgres),
    "refuse-postgres": Fault(1, "postgres", _refuse_sessions),
    "crash-session": Fault(1, "postgres", _crash_session),
    "freeze-session": Fault(2, "postgres", _freeze_session),
    "restart-postgres": Fault(1, "postgres", partial(_restart, "postgres", signal.SIGQUIT)),
    "freeze-postgres": Fault(1, "postgres", _freeze_postgres),
}
