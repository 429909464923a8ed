"""What one attempt did, for /metrics: how it ended, and the time and pairs of each phase."""

import logging
import time
from collections import defaultdict
from collections.abc import Callable

from sqlalchemy.exc import SQLAlchemyError

from app.logs import summarize
from app.metrics.counters import ATTEMPTS, DEVICE_SECONDS, PHASE_PAIRS, PHASE_SECONDS, CounterKey, add_to_counters
from app.store.database import Database
from lens_engine.metering.progress import Progress

_log = logging.getLogger(__name__)


class Tally:
    """Filled by the computing thread, written once at the end. The parent counts a work-horse that was killed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.outcome = "error"
        self._clock = clock
        self._began_at = self._noted_at = clock()
        self._pairs_done: int | None = None
        self._amounts: dict[CounterKey, float] = defaultdict(float)

    def note(self, progress: Progress) -> None:
        """Add to the phase the time and the pairs since the last note. The first note counts no pairs.

        A resumed run begins with the pairs of the attempts before it.
        """
        now, phase = self._clock(), progress.phase.value
        self._amounts[CounterKey(PHASE_SECONDS, phase)] += now - self._noted_at
        if self._pairs_done is not None:
            self._amounts[CounterKey(PHASE_PAIRS, phase)] += max(0, progress.pairs_done - self._pairs_done)
        self._noted_at, self._pairs_done = now, progress.pairs_done

    def write(self, database: Database, owner_id: str) -> None:
        used = {CounterKey(DEVICE_SECONDS, owner_id): self._clock() - self._began_at}
        count(database, {**self._amounts, **used, CounterKey(ATTEMPTS, self.outcome): 1.0})


def count_killed(database: Database, outcome: str, owner_id: str, seconds: float) -> None:
    """Count an attempt that cannot write its own tally, and its time."""
    count(database, {CounterKey(ATTEMPTS, outcome): 1.0, CounterKey(DEVICE_SECONDS, owner_id): seconds})


def count(database: Database, amounts: dict[CounterKey, float]) -> None:
    """Add to the counters when an attempt begins or ends.

    Tries once and raises nothing: numbers for operators must not hold up a job.
    """
    try:
        with database.session_scope() as session:
            add_to_counters(session, amounts)
    except SQLAlchemyError as error:
        _log.warning("an attempt was not counted: %s", summarize(error))
