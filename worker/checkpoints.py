"""Checkpoints of a selection in Postgres."""

from lens_engine.run.checkpoint import Checkpoint
from worker.progress import RunMonitor


class PostgresCheckpointStore:
    """The engine's `CheckpointStore` for one attempt.

    `load` gives what an earlier attempt left, read before the model was loaded. `save` hands the
    checkpoint to the heartbeat, which writes it in one transaction that is fenced by the attempt: the
    old one or the new one is there, and a run that was taken over changes neither.
    """

    def __init__(self, monitor: RunMonitor, found: Checkpoint | None) -> None:
        self._monitor = monitor
        self._found = found

    def load(self) -> Checkpoint | None:
        return self._found

    def save(self, checkpoint: Checkpoint) -> None:
        self._monitor.on_checkpoint(checkpoint)
