"""One selection: load, compute, and resume from a checkpoint."""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.lifecycle import claims
from app.lifecycle.spec import Submission, load_submission
from app.logs import summarize
from lens_engine.errors import CheckpointError, CheckpointForeign, NothingSelected
from lens_engine.opening import LanguageModel
from lens_engine.pipeline import select_support_examples
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.run.checkpoint import Checkpoint
from lens_engine.scoring.base import SERVER
from worker.faults import blaming_worker
from worker.job_context import JobContext
from worker.model_loading import find_reference
from worker.progress import RunMonitor

_SHARE = 20.0
"""Time of the run (seconds) for each second in which a result is made."""


def run_selection(run: JobContext) -> SelectionResult | None:
    """Run a selection. None if it was stopped before a permutation was chosen."""
    try:
        return _Selecting(run).select()
    except NothingSelected:
        return None


@dataclass(frozen=True, slots=True)
class _Selecting:
    run: JobContext

    def select(self) -> SelectionResult:
        submission = self.run.transact(lambda session: load_submission(session, self.run.claim.job_id))
        find_reference(self.run.settings, submission.spec.model)
        checkpoint = self._find_checkpoint()
        model = self._load(submission, checkpoint)
        if checkpoint is not None:
            try:
                return self._compute(submission, model, checkpoint)
            except CheckpointError as error:
                self._start_afresh(error)
            # Outside of the except block, whose error keeps the frames of the run and thereby its model alive.
            if self.run.settings.dtype != checkpoint.dtype:
                del model  # it has the checkpoint's number format, and two models may not fit on the device
                gc.collect()
                model = self._load(submission, None)
        return self._compute(submission, model, None)

    def _load(self, submission: Submission, checkpoint: Checkpoint | None) -> LanguageModel:
        return self.run.load(submission.spec.model, checkpoint.dtype if checkpoint else None)

    def _compute(self, submission: Submission, model: LanguageModel, checkpoint: Checkpoint | None) -> SelectionResult:
        task, alternatives = submission.spec.wordings
        with blaming_worker():
            return select_support_examples(
                Problem(task, submission.examples, submission.test, alternatives),
                model.scorer,
                submission.spec.config,
                listener=self.run.monitor,
                checkpoints=PostgresCheckpointStore(self.run.monitor, checkpoint),
                deadline=self.run.deadline,
                last_moment=self.run.last_moment,
            )

    def _find_checkpoint(self) -> Checkpoint | None:
        """What an earlier attempt left, unless it has to be dropped."""
        data = self.run.transact(lambda session: claims.load_checkpoint(session, self.run.claim))
        if data is None:
            return None
        try:
            checkpoint = Checkpoint.from_bytes(data)
            if checkpoint.device != SERVER:
                self._check_device(checkpoint)
        except CheckpointError as error:
            self._start_afresh(error)
            return None
        self.run.log("resumes after step %d of %s", checkpoint.step, checkpoint.phase)
        return checkpoint

    def _check_device(self, checkpoint: Checkpoint) -> None:
        """Compare the kinds of device before a model is loaded in the checkpoint's number format.

        The engine compares the rest.

        Raises:
            CheckpointForeign: the checkpoint is of another kind of device.
        """
        own, _, _ = self.run.settings.device.partition(":")
        if own not in ("auto", checkpoint.device):
            raise CheckpointForeign(
                f"the checkpoint was computed on {checkpoint.device}, and this worker computes on {own}"
            )

    def _start_afresh(self, error: CheckpointError) -> None:
        """Forget the checkpoint, and report that."""
        self.run.log("starts afresh: %s", summarize(error))

        def forget(session: Session) -> None:
            claims.drop_checkpoint(session, self.run.claim)
            claims.record_event(session, self.run.claim, error.code, {"detail": str(error)})

        self.run.transact(forget)


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
