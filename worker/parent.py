"""A work-horse and its parent: what the one tells the other in shared memory, and how each ends without the other.

A work-horse is the forked process that runs one job. Its parent acts for it when it hangs or is dead: it kills one that
must not live on, and gives the job of a dead one back.
"""

import ctypes
import json
import logging
import math
import mmap
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal, get_args

from rq.job import Job

from app.errors import problem
from app.lifecycle.claims import Claim, Lease, read_lease_for_parent
from app.lifecycle.endings import Crash, finish_late, requeue
from app.settings import Settings
from app.store.database import POSTGRES_AWAY, commit_with_patience, create_database, opened_database
from worker.heartbeat import count

JobResult = Literal["unknown", "fit", "unfit"]
"""unfit: by a fault of this worker; unknown: nothing was claimed, or the run died."""

_BYTES = 512
_RESULTS: tuple[JobResult, ...] = get_args(JobResult)
_PR_SET_PDEATHSIG = 1
_log = logging.getLogger(__name__)


class HorseReport:
    """The claim and the result of the newest work-horse, in memory that a process shares with those that it forks."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _BYTES)  # the first byte is the place of the result, the rest the claim

    def clear(self) -> None:
        """Forget the work-horse before: it has no claim, and its result is unknown."""
        self._memory[:] = bytes(_BYTES)

    @property
    def claim(self) -> Claim | None:
        """The claim of the work-horse; None before it has made one."""
        text = self._memory[1:].rstrip(b"\0")
        return Claim(**json.loads(text)) if text else None

    @claim.setter
    def claim(self, claim: Claim) -> None:
        self._memory[1:] = json.dumps(asdict(claim)).encode().ljust(_BYTES - 1, b"\0")

    @property
    def result(self) -> JobResult:
        """How the job ended."""
        return _RESULTS[self._memory[0]]

    @result.setter
    def result(self, result: JobResult) -> None:
        self._memory[0] = _RESULTS.index(result)


REPORT = HorseReport()


def die_with_parent(parent_id: int | None) -> None:
    """Ask the kernel to kill this process when its parent dies for any reason (Linux).

    A work-horse that outlived its parent would compete with the attempt that replaces it and keep the
    GPU's memory. If the parent died before the request was made, this process exits now.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent_id:
        os._exit(1)


_LONGEST_PAUSE_SECONDS = 5.0
_CLOSE_SECONDS, _HURRIED_SECONDS = 1.0, 3.0
_LAST_WORDS_SECONDS, _LEAVE_SECONDS = 2.0, 12.0
"""Time for last words to Redis, for which RQ waits ten minutes, and for a work-horse that gives its job back."""


class AttemptWatch:
    """Looks at the lease of one work-horse. A run ends by itself when it can; this is for one that cannot.

    It has its own thread, because RQ waits for Redis while that is away. Start it after the fork.
    """

    def __init__(
        self, settings: Settings, kill: Callable[[], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings, self._kill, self._clock = settings, kill, clock
        self._answered_since, self._lost_at = clock(), math.inf
        self._stopping = threading.Event()
        self._database = create_database(settings, pool_size=1)
        self._thread = threading.Thread(target=self._run, name="lens-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """End the thread and its connection, which the next fork must not inherit. After it, nothing is killed."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(_CLOSE_SECONDS)
        self._database.dispose()

    def _run(self) -> None:
        while not self._stopping.wait(min(_LONGEST_PAUSE_SECONDS, self._settings.stop_grace_seconds / 2)):
            try:
                reason = self.find_reason_to_kill()
            except Exception as error:  # noqa: BLE001 - the next look may succeed
                _log.warning("the lease of this worker's run was not seen (%s)", type(error).__name__)
                # After an outage, a run needs time: to claim, to write its end, to learn that it is lost.
                self._answered_since, self._lost_at = self._clock(), math.inf
                continue
            if reason is not None and not self._stopping.is_set():
                _log.critical("the work-horse is killed: %s", reason, extra={"action": "kill-horse"})
                self._kill()

    def find_reason_to_kill(self) -> str | None:
        """Why the work-horse must end now; None if it may go on."""
        claim, grace = REPORT.claim, self._settings.stop_grace_seconds
        with self._database.session_scope() as session:
            lease = Lease.HELD if claim is None else read_lease_for_parent(session, claim, grace)
            session.connection()  # the look at an unclaimed run needs an answer too
        now = self._clock()
        if claim is None:
            is_late = now - self._answered_since > self._settings.lease_seconds
            return f"it claimed nothing within {self._settings.lease_seconds:g} s" if is_late else None
        if lease is Lease.CANCEL_REQUESTED and now - self._answered_since >= grace:
            return f"{claim.job_id} was cancelled, and its run did not stop"
        self._lost_at = min(self._lost_at, now) if lease is Lease.LOST else math.inf
        is_over = now - self._lost_at >= grace
        return f"{claim.job_id} ended or was taken over, and its run did not stop" if is_over else None


def leave_in_time(settings: Settings, find_horse: Callable[[], int], kill: Callable[[], None]) -> None:
    """Have this process end soon after SIGTERM or SIGINT, whatever it and its work-horse wait for.

    Python hears a signal between two steps of its own, so not while a C function looks for the address of a store that
    is gone, or loads weights. A thread hears it at once, by a pipe. Call this in the main thread.
    """
    heard, hearing = os.pipe()
    os.set_blocking(hearing, False)
    signal.set_wakeup_fd(hearing, warn_on_full_buffer=False)

    def leave() -> None:
        while os.read(heard, 1)[0] not in (signal.SIGTERM, signal.SIGINT):
            pass
        time.sleep(_LAST_WORDS_SECONDS)
        if find_horse():
            time.sleep(_LEAVE_SECONDS - _LAST_WORDS_SECONDS)
        _log.warning("the worker ends now: its run, or a store, does not answer", extra={"action": "leave"})
        if find_horse() and (claim := REPORT.claim) is not None:
            give_back(settings, claim)  # without effect if the work-horse has done so
        kill()
        os._exit(0)

    threading.Thread(target=leave, name="lens-leave", daemon=True).start()


def give_back(settings: Settings, claim: Claim) -> None:
    """Give back the job of a work-horse that does not do so, and count no crash, if Postgres answers soon."""
    is_over = threading.Event()

    def write() -> None:
        with opened_database(settings) as database, suppress(*POSTGRES_AWAY):
            commit_with_patience(database, partial(requeue, claim=claim), 0)
        is_over.set()

    threading.Thread(target=write, daemon=True).start()
    is_over.wait(_HURRIED_SECONDS)


def describe_death(wait_status: int) -> str:
    """Why a work-horse ended, for the owner of its job, by what `os.waitpid` says."""
    code = os.waitstatus_to_exitcode(wait_status)
    if code == -signal.SIGKILL:
        return (
            "the system killed its process, usually for memory; take a smaller model, shorter texts or fewer "
            "demonstrations, or have the operator raise the memory limit of the workers"
        )
    return f"its process was ended by signal {-code}" if code < 0 else f"its process ended with exit code {code}"


def handle_crash(settings: Settings, job: Job, _pid: int | None, wait_status: int | None, _usage: Any) -> None:
    """RQ's `work_horse_killed_handler`. It never raises, because RQ would then end the worker.

    If the work-horse died, the job is queued again. If the parent killed the work-horse at the time limit, the job
    ends with its best so far, because another attempt would hang too.
    """
    if wait_status is not None and os.waitstatus_to_exitcode(wait_status) == -signal.SIGKILL:
        _log.error(
            "a work-horse was killed: by this worker (see above), or by the system, usually for memory; raise the "
            "limit (WORKER_MEMORY with Compose, MemoryMax with systemd), or offer a smaller model",
            extra={"action": "horse-killed", "job_id": job.id},
        )
    if (claim := REPORT.claim) is None:
        return  # it died before it held a job
    try:
        _give_up(settings, claim, job, wait_status)
    except Exception as error:  # noqa: BLE001 - RQ would end the worker
        _log.warning(
            "could not give %s back after its work-horse was killed; its lease will run out (%s)",
            claim.job_id,
            type(error).__name__,
            extra={"action": "requeue-failed", "job_id": claim.job_id},
        )


def _give_up(settings: Settings, claim: Claim, job: Job, wait_status: int | None) -> None:
    with opened_database(settings) as database:
        with database.session_scope() as session:
            if wait_status is None:
                detail = f"the run was killed at its time limit of {job.timeout} s"
                was_held = finish_late(session, claim, problem("timeout", detail, instance=claim.path))
            else:
                was_held = requeue(session, claim, crash=Crash.died(settings, describe_death(wait_status)))
        if was_held:  # otherwise somebody else ended the attempt, and counted it
            began_at = job.started_at or datetime.now(UTC)
            seconds = (datetime.now(UTC) - began_at).total_seconds()
            outcome = "timeout" if wait_status is None else "died"
            count(database, outcome, claim.owner_id, seconds)
