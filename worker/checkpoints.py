"""Checkpoints of a selection in Postgres."""

from lens_engine.run.checkpoint import Checkpoint
from worker.progress import RunMonitor


class PostgresCheckpointStore:
    """The engine's `CheckpointStore` for one attempt.

    `load` returns the checkpoint of an earlier attempt, which was read before the model was loaded.
    `save` hands a checkpoint to the heartbeat. The heartbeat replaces the old checkpoint in one
    transaction, and only while this attempt holds the lease.
    """

    def __init__(self, monitor: RunMonitor, found: Checkpoint | None) -> None:
        self._monitor = monitor
        self._found = found

    def load(self) -> Checkpoint | None:
        return self._found

    def save(self, checkpoint: Checkpoint) -> None:
        self._monitor.on_checkpoint(checkpoint)
