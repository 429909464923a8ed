"""What the parent process does for a work-horse that did not end by itself."""

import logging
import os
import signal
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rq.job import Job

from app.lifecycle.claims import Claim
from app.lifecycle.endings import Charge, finish_late, requeue
from app.problems import problem
from app.settings import Settings
from app.store.database import create_database
from worker.horse import REPORT
from worker.tally import count_killed

_log = logging.getLogger(__name__)


def describe_death(wait_status: int) -> str:
    """Why a work-horse ended, for the owner of its job.

    Args:
        wait_status: as `os.waitpid` gives it.
    """
    code = os.waitstatus_to_exitcode(wait_status)
    if code == -signal.SIGKILL:
        return (
            "the system killed its process, usually for memory; take a smaller model, shorter texts or fewer "
            "demonstrations, or have the operator raise the memory limit of the workers"
        )
    return f"its process was ended by signal {-code}" if code < 0 else f"its process ended with exit code {code}"


@dataclass(frozen=True, slots=True)
class CrashHandler:
    """RQ's `work_horse_killed_handler`. It never raises, because RQ would then end the worker.

    If the work-horse died, the job is queued again. If the parent killed the work-horse at the time limit, the job
    ends with its best so far, because another attempt would hang too.
    """

    settings: Settings

    def __call__(self, job: Job, _pid: int | None, wait_status: int | None, _usage: Any) -> None:
        claim = REPORT.claim
        if wait_status is not None and os.waitstatus_to_exitcode(wait_status) == -signal.SIGKILL:
            _log.error(
                "a work-horse was killed: by this worker (see above), or by the system, usually for memory; raise the "
                "limit (WORKER_MEMORY with Compose, MemoryMax with systemd), or offer a smaller model",
                extra={"action": "horse-killed", "job_id": job.id},
            )
        if claim is None:
            return  # it died before it held a job
        try:
            self._give_up(claim, job, wait_status)
        except Exception as error:  # noqa: BLE001 - RQ would end the worker
            _log.warning(
                "could not give %s back after its work-horse was killed; its lease will run out (%s)",
                claim.job_id,
                type(error).__name__,
                extra={"action": "requeue-failed", "job_id": claim.job_id},
            )

    def _give_up(self, claim: Claim, job: Job, wait_status: int | None) -> None:
        database = create_database(self.settings, pool_size=1)
        try:
            with database.session_scope() as session:
                if wait_status is None:
                    detail = f"the run was killed at its time limit of {job.timeout} s"
                    was_held = finish_late(session, claim, problem("timeout", detail, instance=claim.path))
                else:
                    was_held = requeue(session, claim, charge=Charge.died(self.settings, describe_death(wait_status)))
            if was_held:  # otherwise somebody else ended the attempt, and counted it
                began_at = job.started_at or datetime.now(UTC)
                seconds = (datetime.now(UTC) - began_at).total_seconds()
                count_killed(database, "timeout" if wait_status is None else "died", claim.owner_id, seconds)
        finally:
            database.dispose()  # the next fork must not inherit an open connection
