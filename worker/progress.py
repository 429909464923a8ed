"""What a run reports while it computes: progress for its heartbeat, and its time and pairs for /metrics."""

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlalchemy.exc import SQLAlchemyError

from app.logs import summarize
from app.metrics.counters import ATTEMPTS, DEVICE_SECONDS, PHASE_PAIRS, PHASE_SECONDS, CounterKey, add_to_counters
from app.store.database import Database
from lens_engine.metering.progress import Progress
from lens_engine.result import SelectionResult
from lens_engine.run.state import Checkpoint
from lens_engine.types import StopReason

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
        count(database, self._amounts | count_attempt(self.outcome, owner_id, self._clock() - self._began_at))


def count_attempt(outcome: str, owner_id: str, seconds: float) -> dict[CounterKey, float]:
    """What an attempt that took so long adds to the counters."""
    return {CounterKey(ATTEMPTS, outcome): 1.0, CounterKey(DEVICE_SECONDS, owner_id): seconds}


def count(database: Database, amounts: dict[CounterKey, float]) -> None:
    """Add to the counters when an attempt begins or ends.

    Tries once and raises nothing: numbers for operators must not hold up a job.
    """
    try:
        with database.session_scope() as session:
            add_to_counters(session, amounts)
    except SQLAlchemyError as error:
        _log.warning("an attempt was not counted: %s", summarize(error))


@dataclass(frozen=True, slots=True)
class Pending:
    """What the heartbeat has to write next. None means that the last write is still the newest.

    `best` belongs to the checkpoint: the result of a run that is cancelled there.
    """

    progress: Progress | None = None
    checkpoint: Checkpoint | None = None
    best: SelectionResult | None = None


class RunMonitor:
    """Shared state of the computing thread and the heartbeat thread.

    The computing thread reports progress and checkpoints here and never waits for Postgres. The
    monitor keeps only the newest of each, so an outage costs neither time nor memory.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.tally = Tally(clock)
        self._clock = clock
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._pending = Pending()
        self._position: tuple[object, ...] = ()
        self._moved_at = clock()
        self._stop_reason: StopReason | None = None
        self.is_lost = False
        """Whether the claim or the heartbeat is lost. The run must then write nothing."""
        self.is_loading = False

    # Called by the computing thread.

    def on_progress(self, progress: Progress) -> None:
        self.tally.note(progress)
        position = (progress.phase, progress.step, progress.pairs_done, progress.tokens_done)
        with self._lock:
            self._pending = replace(self._pending, progress=progress)
            if position != self._position:
                self._position, self._moved_at = position, self._clock()

    def on_checkpoint(self, checkpoint: Checkpoint, best: SelectionResult | None = None) -> None:
        """Wake the heartbeat to write `checkpoint` with `best`."""
        with self._lock:
            self._pending = replace(self._pending, checkpoint=checkpoint, best=best)
        self._wake.set()

    def stop_requested(self) -> StopReason | None:
        """The reason to stop, if any. A run that asks moves."""
        self._moved_at = self._clock()
        return self._stop_reason

    @contextmanager
    def loading(self) -> Iterator[None]:
        """A context in which the run loads its model: it cannot report progress, and a longer time limit holds."""
        self.is_loading, self._moved_at = True, self._clock()
        try:
            yield
        finally:
            self._moved_at, self.is_loading = self._clock(), False

    # Called by the heartbeat thread.

    def wait(self, seconds: float) -> None:
        """Sleep until a checkpoint arrives, `wake` is called, or `seconds` have passed."""
        self._wake.wait(seconds)
        self._wake.clear()

    def wake(self) -> None:
        self._wake.set()

    def read_pending(self) -> Pending:
        return self._pending

    def forget_progress(self, written: Progress | None) -> None:
        """Drop the progress that was written, but keep a newer one."""
        with self._lock:
            if self._pending.progress is written:
                self._pending = replace(self._pending, progress=None)

    def forget_checkpoint(self, written: Checkpoint) -> None:
        """Drop the checkpoint that was written, but keep a newer one."""
        with self._lock:
            if self._pending.checkpoint is written:
                self._pending = Pending(self._pending.progress)

    @property
    def idle_seconds(self) -> float:
        """Time since the last progress (seconds)."""
        return self._clock() - self._moved_at

    def cancel(self) -> None:
        self._stop_reason = StopReason.CANCELLED

    def lose(self) -> None:
        self.is_lost = True
        self._stop_reason = StopReason.CANCELLED
