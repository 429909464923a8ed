"""How the parent process sees that its work-horse must not live on, however deaf that is."""

import logging
import math
import threading
import time
from collections.abc import Callable

from app.lifecycle.claims import Lease, read_lease_for_parent
from app.settings import Settings
from app.store.database import create_database
from worker.horse import REPORT

_LONGEST_PAUSE_SECONDS = 5.0
_CLOSE_SECONDS = 1.0

_log = logging.getLogger(__name__)


class AttemptWatch:
    """Looks at the lease of one work-horse. A run ends by itself when it can; this is for one that cannot.

    It has its own thread, because RQ waits for Redis while that is away. Start it after the fork.
    """

    def __init__(
        self, settings: Settings, kill: Callable[[], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._kill = kill
        self._clock = clock
        self._answered_since = clock()
        self._lost_at = math.inf
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
        """Why the work-horse must end now; None if it may go on.

        Raises:
            SQLAlchemyError: Postgres does not answer.
        """
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
