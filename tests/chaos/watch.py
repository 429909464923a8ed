"""What is looked at all the while: leases that nobody takes over, and RQ jobs of what has ended."""

import threading
import time
from collections.abc import Mapping

import psycopg
from redis.exceptions import RedisError

from tests.chaos.history import History
from tests.chaos.stores import Stores

_LOOK_SECONDS = 2.0
LEASE_SECONDS = 30.0
"""Longest time for which a row may keep a dead lease. The goal of 90 s is one of leases of 60 s; here they take 4."""
JOB_SECONDS: Mapping[str, float] = {"queued": 60.0, "started": 300.0}
"""Longest time for which an ended job may keep its job in RQ, by the job's status.

RQ calls the job of a killed worker started for 75 s, and then until a worker has no job for long enough to clean up.
Nobody runs such a job.
"""
_DEAD = "SELECT id, attempt FROM jobs WHERE status IN ('running', 'cancelling') AND lease_until < now()"
_ENDED = "SELECT id FROM jobs WHERE id = ANY(%s) AND status IN ('succeeded', 'failed', 'cancelled')"


class Watch(threading.Thread):
    """Looks every other second until it is stopped."""

    def __init__(self, stores: Stores, history: History) -> None:
        super().__init__(name="watch", daemon=True)
        self._stores = stores
        self._history = history
        self._stopping = threading.Event()
        self._since: dict[str, float] = {}

    def stop(self) -> None:
        self._stopping.set()
        self.join(30)

    def run(self) -> None:
        while not self._stopping.wait(_LOOK_SECONDS):
            try:
                found = self._find()
            except (psycopg.Error, RedisError, OSError):
                found = {}  # while a store is away, nobody can mend what is stored
            self.judge(found, time.monotonic())

    def judge(self, found: Mapping[str, float], now: float) -> None:
        """`found`: what should pass, with the longest time for which it may be seen without a break (seconds)."""
        self._since = {what: self._since.get(what, now) for what in found}
        for what, seconds in found.items():
            if now - self._since[what] > seconds:
                self._history.violate(f"{what} for more than {seconds:.0f} s")

    def _find(self) -> dict[str, float]:
        jobs = self._find_jobs()
        with self._stores.connect() as connection:
            dead = connection.execute(_DEAD).fetchall()
            ended = {row[0] for row in connection.execute(_ENDED, [[id_.rpartition("-")[0] for id_ in jobs]])}
        leases = {f"{id_} has a dead lease of attempt {attempt}": LEASE_SECONDS for id_, attempt in dead}
        late = {id_: status for id_, status in jobs.items() if id_.rpartition("-")[0] in ended}
        return leases | {f"ended, with the {status} job {id_}": JOB_SECONDS[status] for id_, status in late.items()}

    def _find_jobs(self) -> dict[str, str]:
        """Status of the jobs that are queued or started, by id."""
        with self._stores.connect_redis() as redis:
            keys = [key.decode() for key in redis.scan_iter("rq:job:*", count=1000) if key.count(b":") == 2]
            found = {key.rpartition(":")[2]: (redis.hget(key, "status") or b"").decode() for key in keys}
        return {id_: status for id_, status in found.items() if status in JOB_SECONDS}
