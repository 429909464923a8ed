"""One selection: load, compute, and resume from a checkpoint."""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from app.lifecycle import claims
from app.lifecycle.claims import Claim
from app.lifecycle.spec import Submission, load_submission
from app.logs import summarize
from app.settings import Settings
from lens_engine.errors import CheckpointError, CheckpointForeign
from lens_engine.model.base import SERVER
from lens_engine.opening import LanguageModel
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.run.pipeline import select_support_examples
from lens_engine.run.state import Checkpoint
from worker.faults import blaming_worker
from worker.heartbeat import RunMonitor
from worker.model_loading import find_reference, load_model

_SHARE = 20.0
"""Time of the run (seconds) for each second in which a result is made."""


@dataclass(frozen=True, slots=True)
class Selecting:
    """One attempt at a selection, as its run sees it."""

    claim: Claim
    settings: Settings
    monitor: RunMonitor
    deadline: float  #: value of `time.monotonic()` at which the run must judge its last rows
    last_moment: float  #: and at which that must have ended too
    transact: Callable[[Callable[[Session], Any]], Any]
    """Runs a write in a transaction, and again while Postgres is away. It must be fenced, or only read."""
    log: Callable[..., None]

    def select(self) -> SelectionResult:
        submission = self.transact(lambda session: load_submission(session, self.claim.job_id))
        find_reference(self.settings, submission.spec.model)
        checkpoint = self._find_checkpoint()
        model = self._load(submission, checkpoint)
        if checkpoint is not None:
            try:
                return self._compute(submission, model, checkpoint)
            except CheckpointError as error:
                self._start_afresh(error)
            # Outside of the except block, whose error keeps the frames of the run and thereby its model alive.
            if self.settings.dtype != checkpoint.dtype:
                del model  # it has the checkpoint's number format, and two models may not fit on the device
                gc.collect()
                model = self._load(submission, None)
        return self._compute(submission, model, None)

    def _load(self, submission: Submission, checkpoint: Checkpoint | None) -> LanguageModel:
        with blaming_worker(is_loading=True), self.monitor.loading():
            return load_model(self.settings, submission.spec.model, checkpoint.dtype if checkpoint else None)

    def _compute(self, submission: Submission, model: LanguageModel, checkpoint: Checkpoint | None) -> SelectionResult:
        task, alternatives = submission.spec.wordings
        with blaming_worker():
            return select_support_examples(
                Problem(task, submission.examples, submission.test, alternatives),
                model.scorer,
                submission.spec.config,
                listener=self.monitor,
                checkpoints=PostgresCheckpointStore(self.monitor, checkpoint),
                deadline=self.deadline,
                last_moment=self.last_moment,
            )

    def _find_checkpoint(self) -> Checkpoint | None:
        """What an earlier attempt left, unless it has to be dropped."""
        data = self.transact(lambda session: claims.load_checkpoint(session, self.claim))
        if data is None:
            return None
        try:
            checkpoint = Checkpoint.from_bytes(data)
            if checkpoint.device != SERVER:
                self._check_device(checkpoint)
        except CheckpointError as error:
            self._start_afresh(error)
            return None
        self.log("resumes after step %d of %s", checkpoint.step, checkpoint.phase)
        return checkpoint

    def _check_device(self, checkpoint: Checkpoint) -> None:
        """Compare the kinds of device before a model is loaded in the checkpoint's number format.

        The engine compares the rest.
        """
        own, _, _ = self.settings.device.partition(":")
        if own not in ("auto", checkpoint.device):
            raise CheckpointForeign(
                f"the checkpoint was computed on {checkpoint.device}, and this worker computes on {own}"
            )

    def _start_afresh(self, error: CheckpointError) -> None:
        """Forget the checkpoint, and report that."""
        self.log("starts afresh: %s", summarize(error))

        def forget(session: Session) -> None:
            claims.drop_checkpoint(session, self.claim)
            claims.record_event(session, self.claim, error.code, {"detail": str(error)})

        self.transact(forget)


class PostgresCheckpointStore:
    """The engine's `CheckpointStore` for one attempt.

    `load` returns the checkpoint of an earlier attempt, which was read before the model was loaded.
    `save` hands a checkpoint to the heartbeat, with the result of a run that is cancelled there or shortly before. The
    heartbeat replaces the old checkpoint in one transaction, and only while this attempt holds the lease.
    """

    def __init__(self, monitor: RunMonitor, found: Checkpoint | None) -> None:
        self._monitor, self._found = monitor, found
        self._best: SelectionResult | None = None
        self._next_at = time.monotonic()

    def load(self) -> Checkpoint | None:
        return self._found

    def save(self, checkpoint: Checkpoint) -> None:
        started = time.monotonic()
        if checkpoint.result_if_cancelled is not None and (self._best is None or started >= self._next_at):
            self._best = checkpoint.result_if_cancelled()
            self._next_at = started + _SHARE * (time.monotonic() - started)
        self._monitor.on_checkpoint(checkpoint, self._best)
