"""What the parent does when a work-horse was killed: tell the sweep at once, so that it need not wait."""

import logging
from dataclasses import dataclass
from typing import Any

from rq.job import Job
from sqlalchemy.exc import SQLAlchemyError

from app.database import create_database
from app.queue import Doorbell
from app.selections.claims import Claim, expire_lease, fail
from app.settings import Settings
from app.web.problems import problem

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CrashHandler:
    """RQ's `work_horse_killed_handler`. It never raises: RQ would end the worker.

    A selection whose work-horse died goes back to the queue by the sweep. One that the parent had to
    kill, since it did not end at its time limit, fails: it would hang again.
    """

    settings: Settings

    def __call__(self, job: Job, _pid: int | None, wait_status: int | None, _usage: Any) -> None:
        try:
            doorbell = Doorbell.from_job_id(job.id)
        except ValueError:
            return  # not one of ours, and so it held no lease
        claim = Claim(doorbell.selection_id, doorbell.attempt)
        try:
            self._give_up(claim, hung=wait_status is None, timeout=job.timeout)
        except SQLAlchemyError as error:
            _log.warning(
                "could not say that %s lost its work-horse; its lease will run out (%s)",
                claim.selection_id,
                type(error).__name__,
                extra={"action": "expire-lease-failed", "selection_id": claim.selection_id},
            )

    def _give_up(self, claim: Claim, *, hung: bool, timeout: object) -> None:
        database = create_database(self.settings, pool_size=1)
        try:
            with database.session_scope() as session:
                if hung:
                    detail = f"the run did not end at its time limit of {timeout} s and was killed"
                    instance = f"/selections/{claim.selection_id}"
                    fail(session, claim, problem("timeout", detail, settings=self.settings, instance=instance))
                else:
                    expire_lease(session, claim)
        finally:
            database.dispose()  # no connection may be open when the next work-horse is forked
