"""What is looked at all the while: leases that nobody takes over, and jobs of selections that have ended."""

import threading
import time

import psycopg
from redis.exceptions import RedisError

from tests.chaos.history import History
from tests.chaos.stores import Stores

_LOOK_SECONDS = 2.0
LEASE_SECONDS = 30.0
"""Longest time for which a row may keep a dead lease. The goal of 90 s is one of leases of 60 s; here they take 4."""
JOB_SECONDS = 60.0
"""Longest time for which an ended selection may keep a job that is queued or started."""
_LIVE = {b"queued", b"started"}

_DEAD_LEASES = "SELECT id, attempt FROM selections WHERE status IN ('running', 'cancelling') AND lease_until < now()"
_ENDED = "SELECT id FROM selections WHERE id = ANY(%s) AND status IN ('succeeded', 'failed', 'cancelled')"


class Streaks:
    """Since when each thing was seen at every look. A look that failed neither ends nor counts: see `pause`."""

    def __init__(self) -> None:
        self._since: dict[object, float] = {}
        self._looked_at = 0.0

    def see(self, things: set[object], now: float) -> dict[object, float]:
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
        self._leases, self._jobs = Streaks(), Streaks()
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
            dead: set[object] = set(connection.execute(_DEAD_LEASES).fetchall())
            for lease, seconds in self._leases.see(dead, now).items():
                if seconds > LEASE_SECONDS:
                    self._history.violate("I6", f"a dead lease is kept for more than {LEASE_SECONDS:.0f} s", str(lease))
            jobs = self._find_live_jobs()
            ended = {row[0] for row in connection.execute(_ENDED, [[job.rpartition("-")[0] for job in jobs]])}
            late: set[object] = {job for job in jobs if job.rpartition("-")[0] in ended}
            for job, seconds in self._jobs.see(late, now).items():
                if seconds > JOB_SECONDS:
                    self._history.violate("I7", f"a job of an ended selection lives for {JOB_SECONDS:.0f} s", str(job))

    def _find_live_jobs(self) -> list[str]:
        with self._stores.connect_redis() as redis:
            keys = [key for key in redis.scan_iter("rq:job:sel_*", count=1000) if key.count(b":") == 2]
            with redis.pipeline(transaction=False) as pipeline:
                for key in keys:
                    pipeline.hget(key, "status")
                states = pipeline.execute()
        return [key.decode().rpartition(":")[2] for key, state in zip(keys, states, strict=True) if state in _LIVE]
