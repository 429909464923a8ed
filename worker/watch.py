"""How the parent process sees that its work-horse must not live on, however deaf that is."""

import logging
import math
import time
from collections.abc import Callable

from sqlalchemy.exc import SQLAlchemyError

from app.database import Database, create_database
from app.lifecycle.claims import Claim, Lease, read_lease_for_parent
from app.settings import Settings
from worker.horse_report import REPORT

_log = logging.getLogger(__name__)


class AttemptWatch:
    """Looks at the lease of one work-horse. A run ends by itself when it can; this is for one that cannot."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._began_at = clock()
        self._lost_at = math.inf
        self._database: Database | None = None

    def find_reason_to_kill(self) -> str | None:
        """Why the work-horse must end now; None if it may go on, or while Postgres does not answer."""
        claim = REPORT.claim
        if claim is None:
            is_late = self._clock() - self._began_at > self._settings.lease_seconds
            return f"it claimed nothing within {self._settings.lease_seconds:g} s" if is_late else None
        lease = self._look(claim)
        if lease is Lease.CANCEL_REQUESTED:
            return "its owner cancelled it, and it did not stop"
        # Without an answer too: after an outage, a living run needs time to renew its lease.
        self._lost_at = min(self._lost_at, self._clock()) if lease is Lease.LOST else math.inf
        is_over = self._clock() - self._lost_at >= self._settings.stop_grace_seconds
        return "its selection ended or was taken over, and it did not stop" if is_over else None

    def close(self) -> None:
        """Close the connection: the next fork must not inherit it."""
        if self._database is not None:
            self._database.dispose()

    def _look(self, claim: Claim) -> Lease | None:
        if self._database is None:  # after the fork
            self._database = create_database(self._settings, pool_size=1)
        try:
            with self._database.session_scope() as session:
                return read_lease_for_parent(session, claim, self._settings.stop_grace_seconds)
        except SQLAlchemyError as error:
            _log.warning("the lease of %s was not seen (%s)", claim.selection_id, type(error).__name__)
            return None
