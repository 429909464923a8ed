"""One selection, from claim to end: load, compute, persist.

Transactions are short and none is open while the model computes. Every write is fenced by the
attempt. What ends a run, and what becomes of the selection:

    a result                        succeeded, or cancelled with a partial result
    stopped before a permutation    cancelled
    InvalidInput, ModelError        failed at once: another attempt would meet it again
    the job's time limit            failed (timeout)
    shutdown of the worker          queued again, the attempt not charged
    another attempt took over       nothing is written
    the heartbeat ended by an error nothing is written, and the lease is given up
    anything else                   the lease is given up; the sweep decides about another attempt
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from rq.exceptions import ShutDownImminentException
from rq.timeouts import JobTimeoutException
from sqlalchemy.orm import Session

from app.database import Database, create_database
from app.selections import claims
from app.selections.claims import Claim
from app.selections.repository import Submission, load_submission
from app.settings import Settings
from lens_engine.errors import CheckpointError, InvalidInput, ModelError, NothingSelected
from lens_engine.pipeline import select_support_examples
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.run.checkpoint import Checkpoint
from lens_engine.types import StopReason
from worker.checkpoints import PostgresCheckpointStore
from worker.failures import describe_failure, describe_timeout
from worker.heartbeat import Heartbeat, Rhythm
from worker.model_loading import load_model
from worker.persistence import POSTGRES_AWAY, commit_with_patience
from worker.progress import RunMonitor

Ending = Callable[[Session, Claim], bool]
"""The last write of a run. It returns False if the claim was lost."""

T = TypeVar("T")

_PATIENCE_SECONDS = 600.0
_HURRIED_PATIENCE_SECONDS = 3.0

_log = logging.getLogger(__name__)


def execute_selection(selection_id: str, settings: Settings) -> None:
    """Claim a selection and run it; return quietly if it is running already or finished."""
    database = create_database(settings, pool_size=2)  # the run and its heartbeat
    try:
        claim = commit_with_patience(
            database,
            lambda session: claims.claim_selection(session, selection_id, settings.lease_seconds),
            _PATIENCE_SECONDS,
        )
        if claim is None:
            _log.info("%s was not claimed: already running or finished", selection_id)
            return
        Attempt(database, claim, settings).run()
    finally:
        database.dispose()


class Attempt:
    """One attempt at a selection, by the process that claimed it."""

    def __init__(self, database: Database, claim: Claim, settings: Settings) -> None:
        self._database = database
        self._claim = claim
        self._settings = settings
        self._monitor = RunMonitor()
        self._heartbeat = Heartbeat(database, claim, self._monitor, Rhythm.of(settings))

    def run(self) -> None:
        """Compute and persist. On any error, give the lease up at once, so that another worker can take over."""
        self._log("attempt %d begins", self._claim.attempt)
        ended = False
        try:
            self._heartbeat.start()
            ended = self._persist(self._conclude())
        except ShutDownImminentException:
            self._heartbeat.stop()
            ended = self._hurry(claims.release)
            self._log("released for a shutdown" if ended else "not released: the lease will run out")
        finally:
            self._heartbeat.stop()
            if not ended:
                self._hurry(claims.expire_lease)

    def _conclude(self) -> Ending:
        """Compute, and return the last write of the run."""
        try:
            result = self._select()
        except NothingSelected as error:
            return self._nothing_selected(error)
        except JobTimeoutException:
            return partial(claims.fail, problem=describe_timeout(self._settings, self._instance))
        except (InvalidInput, ModelError, MemoryError) as error:
            self._log("failed: %s", error)
            return partial(claims.fail, problem=describe_failure(error, self._settings, self._instance))
        return partial(claims.finish, result=result)

    def _nothing_selected(self, error: NothingSelected) -> Ending:
        if error.stop_reason == StopReason.CANCELLED:
            return claims.finish_cancelled
        return partial(claims.fail, problem=describe_failure(error, self._settings, self._instance))

    def _select(self) -> SelectionResult:
        submission = self._transact(lambda session: load_submission(session, self._claim.selection_id))
        try:
            return self._compute(submission, self._find_checkpoint())
        except CheckpointError as error:
            self._start_afresh(error)
            return self._compute(submission, None)

    def _compute(self, submission: Submission, checkpoint: Checkpoint | None) -> SelectionResult:
        model = load_model(self._settings, submission.spec.model, checkpoint.dtype if checkpoint else None)
        return select_support_examples(
            Problem(submission.spec.task, submission.examples, submission.test),
            model.scorer,
            submission.spec.config,
            listener=self._monitor,
            checkpoints=PostgresCheckpointStore(self._monitor, checkpoint),
            fine_tuner=model.fine_tuner,
        )

    def _find_checkpoint(self) -> Checkpoint | None:
        """What an earlier attempt left. Raises CheckpointDamaged."""
        data = self._transact(lambda session: claims.load_checkpoint(session, self._claim))
        if data is None:
            return None
        checkpoint = Checkpoint.from_bytes(data)
        self._log("resumes after step %d of %s", checkpoint.step, checkpoint.phase)
        return checkpoint

    def _start_afresh(self, error: CheckpointError) -> None:
        self._log("starts afresh: %s", error)

        def forget(session: Session) -> None:
            claims.drop_checkpoint(session, self._claim)
            claims.record_event(session, self._claim, error.code, {"detail": str(error)})

        self._transact(forget)

    def _persist(self, ending: Ending) -> bool:
        """Make the last write; False when the claim is lost, to another attempt or with the heartbeat."""
        self._heartbeat.stop()
        held = not self._monitor.is_lost and self._transact(lambda session: ending(session, self._claim))
        self._log("attempt %d " + ("ends" if held else "writes nothing: the claim is lost"), self._claim.attempt)
        return held

    def _transact(self, write: Callable[[Session], T]) -> T:
        return commit_with_patience(self._database, write, _PATIENCE_SECONDS)

    def _hurry(self, ending: Ending) -> bool:
        """A last write that must not hold up the exit."""
        try:
            return commit_with_patience(
                self._database, lambda session: ending(session, self._claim), _HURRIED_PATIENCE_SECONDS
            )
        except POSTGRES_AWAY:
            return False

    @property
    def _instance(self) -> str:
        return f"/selections/{self._claim.selection_id}"

    def _log(self, message: str, *values: object) -> None:
        _log.info(
            f"%s: {message}",
            self._claim.selection_id,
            *values,
            extra={"selection_id": self._claim.selection_id, "attempt": self._claim.attempt},
        )
