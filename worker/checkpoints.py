"""Checkpoints of a selection in Postgres."""

import time
from collections.abc import Callable

from lens_engine.result import SelectionResult
from lens_engine.run.checkpoint import Checkpoint
from worker.progress import RunMonitor

_SHARE = 20.0
"""Time of the run (seconds) for each second in which a result is made."""


class PostgresCheckpointStore:
    """The engine's `CheckpointStore` for one attempt.

    `load` returns the checkpoint of an earlier attempt, which was read before the model was loaded.
    `save` hands a checkpoint to the heartbeat, with the result of a run that is cancelled there or shortly before. The
    heartbeat replaces the old checkpoint in one transaction, and only while this attempt holds the lease.
    """

    def __init__(
        self, monitor: RunMonitor, found: Checkpoint | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._monitor = monitor
        self._found = found
        self._clock = clock
        self._best: SelectionResult | None = None
        self._next_at = clock()

    def load(self) -> Checkpoint | None:
        return self._found

    def save(self, checkpoint: Checkpoint) -> None:
        started = self._clock()
        if checkpoint.result_if_cancelled is not None and (self._best is None or started >= self._next_at):
            self._best = checkpoint.result_if_cancelled()
            self._next_at = started + _SHARE * (self._clock() - started)
        self._monitor.on_checkpoint(checkpoint, self._best)
