"""What is looked at all the while: leases that nobody takes over, and jobs of selections that have ended."""

import threading
import time
from collections.abc import Mapping
from typing import Generic, TypeVar

import psycopg
from redis.exceptions import RedisError

from tests.chaos.history import History
from tests.chaos.stores import Stores

_LOOK_SECONDS = 2.0
LEASE_SECONDS = 30.0
"""Longest time for which a row may keep a dead lease. The goal of 90 s is one of leases of 60 s; here they take 4."""
JOB_SECONDS: Mapping[bytes, float] = {b"queued": 60.0, b"started": 300.0}
"""Longest time for which an ended selection may keep a job in RQ, by the job's status.

RQ calls the job of a killed worker started for 75 s, and then until a worker has no job for long enough to clean up.
Nobody runs such a job.
"""

_DEAD_LEASES = "SELECT id, attempt FROM selections WHERE status IN ('running', 'cancelling') AND lease_until < now()"
_ENDED = "SELECT id FROM selections WHERE id = ANY(%s) AND status IN ('succeeded', 'failed', 'cancelled')"

Thing = TypeVar("Thing")


class Streaks(Generic[Thing]):
    """Since when each thing was seen at every look."""

    def __init__(self) -> None:
        self._since: dict[Thing, float] = {}

    def see(self, things: set[Thing], now: float) -> dict[Thing, float]:
        """How long each thing was seen without a break (seconds)."""
        self._since = {thing: self._since.get(thing, now) for thing in things}
        return {thing: now - since for thing, since in self._since.items()}

    def forget(self) -> None:
        """Begin anew: while a store is away, nobody can mend what is stored."""
        self._since.clear()


class Watch(threading.Thread):
    """Looks every other second until it is stopped."""

    def __init__(self, stores: Stores, history: History) -> None:
        super().__init__(name="watch", daemon=True)
        self._stores = stores
        self._history = history
        self._stopping = threading.Event()
        self._leases: Streaks[tuple[object, ...]] = Streaks()
        self._jobs: Streaks[tuple[str, bytes]] = Streaks()
        self.num_looks = 0

    def stop(self) -> None:
        self._stopping.set()
        self.join(30)

    def run(self) -> None:
        while not self._stopping.wait(_LOOK_SECONDS):
            try:
                self.look(time.monotonic())
                self.num_looks += 1
            except (psycopg.Error, RedisError, OSError):
                self._leases.forget()
                self._jobs.forget()

    def look(self, now: float) -> None:
        """
        Raises:
            psycopg.Error, RedisError: a store is away.
        """
        with self._stores.connect() as connection:
            dead = set(connection.execute(_DEAD_LEASES).fetchall())
            for lease, seconds in self._leases.see(dead, now).items():
                if seconds > LEASE_SECONDS:
                    self._history.violate("I6", f"a dead lease is kept for more than {LEASE_SECONDS:.0f} s", str(lease))
            jobs = self._find_live_jobs()
            ended = {row[0] for row in connection.execute(_ENDED, [[_selection_of(job) for job, _ in jobs]])}
            late: set[tuple[str, bytes]] = {job for job in jobs if _selection_of(job[0]) in ended}
            for (job, status), seconds in self._jobs.see(late, now).items():
                if seconds > JOB_SECONDS[status]:
                    detail = f"an ended selection has a {status.decode()} job for {JOB_SECONDS[status]:.0f} s"
                    self._history.violate("I7", detail, job)

    def _find_live_jobs(self) -> list[tuple[str, bytes]]:
        """Jobs that are queued or started: id and status."""
        with self._stores.connect_redis() as redis:
            keys = [key for key in redis.scan_iter("rq:job:sel_*", count=1000) if key.count(b":") == 2]
            with redis.pipeline(transaction=False) as pipeline:
                for key in keys:
                    pipeline.hget(key, "status")
                states = pipeline.execute()
        found = zip(keys, states, strict=True)
        return [(key.decode().rpartition(":")[2], state) for key, state in found if state in JOB_SECONDS]


def _selection_of(job_id: str) -> str:
    return job_id.rpartition("-")[0]
