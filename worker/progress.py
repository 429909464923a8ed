"""The `SelectionListener` of a worker: passes progress to the heartbeat and stop requests to the engine."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from lens_engine.metering.progress import Progress
from lens_engine.result import SelectionResult
from lens_engine.run.checkpoint import Checkpoint
from lens_engine.types import StopReason
from worker.tally import Tally


@dataclass(frozen=True, slots=True)
class Pending:
    """What the heartbeat has to write next. None means that the last write is still the newest.

    `best` belongs to the checkpoint: the result of a run that is cancelled there.
    """

    progress: Progress | None
    checkpoint: Checkpoint | None
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
        self._progress: Progress | None = None
        self._checkpoint: Checkpoint | None = None
        self._best: SelectionResult | None = None
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
            self._progress = progress
            if position != self._position:
                self._position, self._moved_at = position, self._clock()

    def on_checkpoint(self, checkpoint: Checkpoint, best: SelectionResult | None = None) -> None:
        """Wake the heartbeat to write `checkpoint` with `best`."""
        with self._lock:
            self._checkpoint, self._best = checkpoint, best
        self._wake.set()

    def stop_requested(self) -> StopReason | None:
        """The reason to stop, if any. A run that asks moves."""
        with self._lock:
            self._moved_at = self._clock()
        return self._stop_reason

    @contextmanager
    def loading(self) -> Iterator[None]:
        """A context in which the run loads its model: it cannot report progress, and a longer time limit holds."""
        self._set_loading(True)
        try:
            yield
        finally:
            self._set_loading(False)

    def _set_loading(self, is_loading: bool) -> None:
        with self._lock:
            self.is_loading, self._moved_at = is_loading, self._clock()

    # Called by the heartbeat thread.

    def wait(self, seconds: float) -> None:
        """Sleep until a checkpoint arrives, `wake` is called, or `seconds` have passed."""
        self._wake.wait(seconds)
        self._wake.clear()

    def wake(self) -> None:
        self._wake.set()

    def read_pending(self) -> Pending:
        with self._lock:
            return Pending(self._progress, self._checkpoint, self._best)

    def forget_progress(self, written: Progress | None) -> None:
        """Drop the progress that was written, but keep a newer one."""
        with self._lock:
            if self._progress is written:
                self._progress = None

    def forget_checkpoint(self, written: Checkpoint) -> None:
        """Drop the checkpoint that was written, but keep a newer one."""
        with self._lock:
            if self._checkpoint is written:
                self._checkpoint = self._best = None

    @property
    def idle_seconds(self) -> float:
        """Time since the last progress (seconds)."""
        with self._lock:
            return self._clock() - self._moved_at

    def cancel(self) -> None:
        self._stop_reason = StopReason.CANCELLED

    def lose(self) -> None:
        self.is_lost = True
        self._stop_reason = StopReason.CANCELLED
