"""The thread that renews a job's lease and writes its progress and checkpoints while the run computes."""

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from app.lifecycle import claims, endings
from app.lifecycle.claims import Claim, Lease, PackedCheckpoint
from app.lifecycle.endings import Crash, count_attempt
from app.logs import begin_context, find_sqlstate, summarize
from app.settings import Settings
from app.store.database import POSTGRES_AWAY, Database, is_away, log_postponed, longest_pause
from lens_engine.metering.progress import Progress
from lens_engine.result import SelectionResult
from lens_engine.run.state import Checkpoint
from lens_engine.types import StopReason

_log = logging.getLogger(__name__)


class Tally:
    """How an attempt ends, and how long it took. The parent counts a work-horse that was killed."""

    def __init__(self) -> None:
        self.outcome = "error"
        self._began_at = time.monotonic()

    def write(self, database: Database, owner_id: str) -> None:
        count(database, self.outcome, owner_id, time.monotonic() - self._began_at)


def count(database: Database, outcome: str, owner_id: str, seconds: float) -> None:
    """Count an attempt. Tries once and raises nothing: numbers for operators must not hold up a job."""
    try:
        with database.session_scope() as session:
            count_attempt(session, outcome, owner_id, seconds)
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
        self.tally = Tally()
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


UNWRITTEN = "checkpoint-unwritten"
"""The event of a checkpoint that cannot be stored."""


_JOIN_SECONDS = 5.0
_LONGEST_SAVE_PAUSES = 12
_LOOK_SECONDS, _PROGRESS_SECONDS, _CHECKPOINT_SECONDS = 1.0, 3.0, 5.0
"""Between two looks for a cancel request, writes of progress, and writes of checkpoints, or less."""


class Heartbeat:
    """Renews the lease, writes progress and checkpoints, and forwards a cancel request to the run.

    The heartbeat has its own thread and connection, so a slow model delays no write and an outage of
    Postgres delays no computation. A failed write is repeated with the newest values until it
    succeeds. A checkpoint that cannot be stored costs neither the lease nor the progress.

    When the run is lost, the heartbeat ends and asks the run to stop. The parent process kills one that does not.
    Start the heartbeat after the fork.
    """

    def __init__(self, database: Database, claim: Claim, monitor: RunMonitor, settings: Settings) -> None:
        self._database, self._claim, self._monitor, self._settings = database, claim, monitor, settings
        renew = settings.lease_renew_seconds
        self._look, self._progress = min(_LOOK_SECONDS, renew), min(_PROGRESS_SECONDS, renew)
        self._pause, self._save_pause = self._look, min(_CHECKPOINT_SECONDS, renew)
        self._longest_save_pause = _LONGEST_SAVE_PAUSES * self._save_pause
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._renewed_at = time.monotonic()
        self._looked_at = -math.inf
        self._save_at = -math.inf  # a checkpoint is due from then on
        self._has_reported = False

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Try once to write the newest values, then end the thread."""
        self._stopping.set()
        self._monitor.wake()
        if self._thread.is_alive():
            self._thread.join(_JOIN_SECONDS)

    def _run(self) -> None:
        begin_context(**self._claim.log_fields)
        try:
            while not self._stopping.is_set() and not self._monitor.is_lost:
                self._monitor.wait(self._pause)
                self._check_stall()
                if not self._monitor.is_lost:
                    self._beat()
        finally:
            self._end()

    def _end(self) -> None:
        """Stop the run when its heartbeat ends for any reason: without a heartbeat the lease runs out."""
        if self._stopping.is_set():
            self._beat(is_last=True)
        else:
            self._monitor.lose()

    def _check_stall(self) -> None:
        """Give up a run that makes no progress."""
        limit = self._settings.load_seconds if self._monitor.is_loading else self._settings.stall_seconds
        if self._monitor.idle_seconds > limit:
            _log.critical("%s, attempt %d: no progress in %.0f s", self._claim.job_id, self._claim.attempt, limit)
            try:
                with self._database.session_scope() as session:
                    endings.requeue(session, self._claim, crash=Crash.stalled(self._settings, limit))
            except SQLAlchemyError as error:
                _log.warning("the stall of %s was not written (%s)", self._claim.job_id, type(error).__name__)
            self._monitor.tally.outcome = "stalled"
            self._monitor.tally.write(self._database, self._claim.owner_id)
            self._monitor.lose()

    def _beat(self, *, is_last: bool = False) -> None:
        """Write what is due. The lease comes first, in a transaction of its own: nothing else may cost it."""
        pending = self._monitor.read_pending()
        try:
            self._obey(self._renew(pending, is_last=is_last))
            if not self._monitor.is_lost:
                self._keep(pending, is_last=is_last)
        except POSTGRES_AWAY as error:
            self._pause = min(self._pause * 2, longest_pause(self._settings))
            log_postponed(error, f"{self._claim.job_id} continues and its writes wait")
        else:
            self._pause = self._look

    def _renew(self, pending: Pending, *, is_last: bool) -> Lease:
        """Renew the lease and write the progress, if either is due; otherwise only read whether the run may go on."""
        now = time.monotonic()
        since = now - self._renewed_at
        is_progress_due = pending.progress is not None and (is_last or since >= self._progress)
        if not is_progress_due and since < self._settings.lease_renew_seconds:
            # Checkpoints wake this thread more often than it needs to know whether the run may go on.
            if now - self._looked_at < self._look:
                return Lease.HELD
            self._looked_at = now
            with self._database.session_scope() as session:
                return claims.read_lease(session, self._claim)
        with self._database.session_scope() as session:
            lease = claims.renew_lease(session, self._claim, self._settings.lease_seconds, pending.progress)
        self._renewed_at = self._looked_at = now
        self._monitor.forget_progress(pending.progress)
        return lease

    def _keep(self, pending: Pending, *, is_last: bool) -> None:
        """Write the newest checkpoint, if one is due."""
        if pending.checkpoint is None or (time.monotonic() < self._save_at and not is_last):
            return
        packed = PackedCheckpoint.of(pending.checkpoint, pending.best)
        size, most = len(packed.data), self._settings.max_checkpoint_mib << 20
        if size > most:
            refusal: str | None = f"it has {math.ceil(size / 2**20)} MiB, and {math.ceil(most / 2**20)} MiB are allowed"
        else:
            refusal = self._save(packed)
        if refusal is None or size > most:
            self._monitor.forget_checkpoint(pending.checkpoint)
        usual = self._longest_save_pause / _LONGEST_SAVE_PAUSES
        self._save_pause = usual if refusal is None else min(self._save_pause * 2, self._longest_save_pause)
        self._save_at = time.monotonic() + self._save_pause
        if refusal is not None:
            self._report(refusal)

    def _save(self, packed: PackedCheckpoint) -> str | None:
        """Write a checkpoint. Returns why it cannot be stored; None if it was stored, or if the claim is lost."""
        try:
            with self._database.session_scope() as session:
                claims.save_checkpoint(session, self._claim, packed)
        except DBAPIError as error:
            if is_away(error):
                raise
            # The message is left out, because Postgres repeats values in it.
            return f"Postgres refused it (SQLSTATE {find_sqlstate(error)})"
        return None

    def _report(self, refusal: str) -> None:
        """Log that the run goes on without a checkpoint, and tell the owner once."""
        _log.error(
            "a checkpoint of %s was not stored: %s; the run continues, and a crash would cost what it found since",
            self._claim.job_id,
            refusal,
            extra={"action": UNWRITTEN},
        )
        if self._has_reported:
            return
        with self._database.session_scope() as session:
            claims.record_event(session, self._claim, UNWRITTEN, {"detail": f"a checkpoint was not stored: {refusal}"})
        self._has_reported = True

    def _obey(self, lease: Lease) -> None:
        if lease is Lease.LOST:
            _log.warning(
                "%s was taken over by another attempt, or was ended; this run stops",
                self._claim.job_id,
                extra={"action": "lease-lost"},
            )
            self._monitor.lose()
        elif lease is Lease.CANCEL_REQUESTED:
            self._monitor.cancel()
