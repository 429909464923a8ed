"""A child process that is started again whenever it ends: the API, or a worker."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

from redis import Redis
from redis.exceptions import RedisError

from lens_cli.service.embedded import Child, ChildSpec, describe_end

FIRST_PAUSE_SECONDS = 1.0
MAX_PAUSE_SECONDS = 60.0
_REGISTERED = "rq:workers"
"""The set of the keys of RQ's workers. Each key has a hash with the process and its start in UTC (ISO 8601)."""

_LASTING_SECONDS = 60.0
"""A process that has run for this time has not ended at once."""


class LastingChild:
    """Started at once, and again after each end, with a pause that doubles while the process ends at once.

    A process that ends before it ever came up is not started again: its settings are wrong, and would be the next time.
    """

    def __init__(self, spec: ChildSpec, is_up: Callable[[int, str], bool], say: Callable[[str], None]) -> None:
        """`is_up`: whether a process has come up, by its number and its start in UTC (ISO 8601)."""
        self._spec = spec
        self._is_up = is_up
        self._say = say
        self.has_come_up = False
        self._ends_in_a_row = 0
        self._start_again_at: float | None = None  #: by time.monotonic; None while the process runs
        self._start()

    def _start(self) -> None:
        self._child = Child(self._spec)
        self._started_at, self._started = time.monotonic(), f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
        self._start_again_at = None

    @property
    def pid(self) -> int:
        """Process that runs, or ran last."""
        return self._child.pid

    def stop(self) -> None:
        self._child.stop()

    def look_after(self) -> None:
        """Notice the end of the process, or start it again when the pause is over."""
        self._child.shorten_log()
        if self._start_again_at is not None:
            if time.monotonic() >= self._start_again_at:
                self._start()
            return
        self.has_come_up = self.has_come_up or self._is_up(self.pid, self._started)
        status = self._child.exit_status
        if status is None:
            return
        if not self.has_come_up:
            self._child.check_alive()
        self._plan_restart(status)

    def _plan_restart(self, status: int) -> None:
        now = time.monotonic()
        is_lasting = now - self._started_at >= _LASTING_SECONDS
        self._ends_in_a_row = 1 if is_lasting else self._ends_in_a_row + 1
        pause = min(FIRST_PAUSE_SECONDS * 2 ** (self._ends_in_a_row - 1), MAX_PAUSE_SECONDS)
        self._start_again_at = now + pause
        again = f", end number {self._ends_in_a_row} in a row" if self._ends_in_a_row > 1 else ""
        last_line = self._child.read_log_tail().splitlines()[-1]
        name = self._spec.name[0].upper() + self._spec.name[1:]
        self._say(f"{name} {describe_end(status)}{again}. It starts again in {pause:.0f} s. Its last line: {last_line}")


def is_registered(redis: Redis, pid: int, started: str) -> bool:
    """Whether this worker waits for jobs. The entry of an earlier process may have the same number.

    Args:
        redis: its answers are text (`decode_responses`).
    """
    try:
        entries = [redis.hmget(key, "pid", "birth") for key in redis.smembers(_REGISTERED)]
    except RedisError:
        return False
    return any(found == str(pid) and str(birth or "") >= started for found, birth in entries)
