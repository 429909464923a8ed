"""What the parent process does for a work-horse that did not end by itself."""

import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rq.job import Job

from app.database import create_database
from app.lifecycle.claims import Claim
from app.lifecycle.endings import Charge, finish_late, requeue
from app.problems import problem
from app.settings import Settings
from worker.horse_report import REPORT
from worker.tally import count_killed

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CrashHandler:
    """RQ's `work_horse_killed_handler`. It never raises, because RQ would then end the worker.

    If the work-horse died, the job is queued again. If the parent killed the work-horse at the time limit, the job
    ends with its best so far, because another attempt would hang too.
    """

    settings: Settings

    def __call__(self, job: Job, _pid: int | None, wait_status: int | None, _usage: Any) -> None:
        claim = REPORT.claim
        if claim is None:
            return  # it died before it held a job
        try:
            self._give_up(claim, job, hung=wait_status is None)
        except Exception as error:  # noqa: BLE001 - RQ would end the worker
            _log.warning(
                "could not give %s back after its work-horse was killed; its lease will run out (%s)",
                claim.job_id,
                type(error).__name__,
                extra={"action": "requeue-failed", "job_id": claim.job_id},
            )

    def _give_up(self, claim: Claim, job: Job, *, hung: bool) -> None:
        database = create_database(self.settings, pool_size=1)
        try:
            with database.session_scope() as session:
                if hung:
                    detail = f"the run was killed at its time limit of {job.timeout} s"
                    was_held = finish_late(session, claim, problem("timeout", detail, instance=claim.path))
                else:
                    was_held = requeue(session, claim, charge=Charge.died(self.settings))
            if was_held:  # otherwise somebody else ended the attempt, and counted it
                began_at = job.started_at or datetime.now(UTC)
                seconds = (datetime.now(UTC) - began_at).total_seconds()
                count_killed(database, "timeout" if hung else "died", claim.owner_id, seconds)
        finally:
            database.dispose()  # the next fork must not inherit an open connection
