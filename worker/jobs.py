"""One job, from claim to end: load, compute, persist.

Transactions are short and none is open while the model computes. Every write is fenced by the
attempt. What ends a run, and what becomes of the job:

    a result                        succeeded, or cancelled with a partial result
    stopped without a result        cancelled
    InvalidInput, ModelError,       failed at once: another attempt would meet it again; while the model is loaded
    MemoryError                     any error but an EndpointError is a WorkerFault
    WorkerFault                     counted as a crash; queued again, or failed (worker-unfit) at the last attempt
    a model that moved              queued again for a worker of the other queue, not counted
    a server that does not answer   queued again for a later attempt, not counted
    a spec that cannot be read      failed (spec-unreadable)
    the time limit draws near       succeeded with the best so far, a partial result
    the job's time limit            succeeded with the best so far; failed (timeout) if nothing was chosen yet
    shutdown of the worker          queued again, the attempt not counted
    another attempt took over       nothing is written
    no progress for the stall time  counted as a crash; queued again, or failed (stalled) at the last attempt
    the heartbeat ended by an error counted as a crash
    anything else                   counted as a crash; queued again, or failed (worker-crashed) at the last attempt
"""

import gc
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from rq.exceptions import ShutDownImminentException
from rq.timeouts import JobTimeoutException
from sqlalchemy.orm import Session

from app.errors import problem
from app.lifecycle import claims, endings
from app.lifecycle.claims import Claim, claim_next
from app.lifecycle.endings import Crash, backoff_seconds
from app.lifecycle.spec import SpecUnreadable, Submission, load_submission
from app.logs import begin_context, summarize
from app.settings import Settings
from app.store.database import POSTGRES_AWAY, Database, commit_with_patience, longest_pause, opened_database
from lens_engine.errors import (
    CheckpointError,
    CheckpointForeign,
    EndpointAway,
    InvalidInput,
    ModelError,
    NothingSelected,
)
from lens_engine.model.base import SERVER
from lens_engine.opening import LanguageModel
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.run.pipeline import select_support_examples
from lens_engine.run.state import Checkpoint
from worker.faults import ModelMoved, WorkerFault, blaming_worker, describe_failure, describe_timeout, tell_owner
from worker.heartbeat import Heartbeat, RunMonitor
from worker.model_loading import find_reference, load_model
from worker.parent import REPORT

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


Ending = Callable[[Session, Claim], bool]
"""The last write of a run. It returns False if the claim was lost."""

T = TypeVar("T")

_PATIENCE_SECONDS = 600.0
_HURRIED_PATIENCE_SECONDS = 3.0
_LONGEST_WAIT_SECONDS = 600.0  # for another worker, or for a server
_RESERVE_SECONDS, _RESERVE_SHARE = 600.0, 0.1
"""Of the time limit of a job, in which the run judges its last rows and writes its result."""

_log = logging.getLogger(__name__)


def run_job(_job_id: str) -> bool:
    """Run the next job in a work-horse. Returns False if none waits for this worker.

    It may be another one than was enqueued: see `app.lifecycle.claims`. The service names this function in Redis.
    """
    settings = Settings()
    return claim_and_execute(settings, lambda session: claim_next(session, settings))


def claim_and_execute(settings: Settings, find: Callable[[Session], Claim | None]) -> bool:
    """Run the job that `find` claims. Returns False if it claims none."""
    started = time.monotonic()  # RQ counts the time limit from about here
    try:
        with opened_database(settings, pool_size=2) as database:  # for the run and its heartbeat
            claim = commit_with_patience(database, find, _PATIENCE_SECONDS)
            if claim is None:
                _log.info("no job was claimed: none waits for this worker")
                return False
            REPORT.claim = claim
            Attempt(database, claim, settings, started).run()
            return True
    except ShutDownImminentException:  # an attempt that has begun deals with it itself
        _log.info("shutdown before an attempt began; a lease that was claimed runs out")
        return False


class Attempt:
    """One attempt at a job, by the process that claimed it."""

    def __init__(self, database: Database, claim: Claim, settings: Settings, started: float | None = None) -> None:
        """`started`: value of `time.monotonic()` at which the job began; None for now."""
        self._database, self._claim, self._settings = database, claim, settings
        self._reserve = min(_RESERVE_SECONDS, _RESERVE_SHARE * settings.job_timeout_seconds)
        end = (time.monotonic() if started is None else started) + settings.job_timeout_seconds
        self._deadline = end - self._reserve
        self._monitor = RunMonitor()
        self._heartbeat = Heartbeat(database, claim, self._monitor, settings)

    def run(self) -> None:
        """Compute and persist. On any error, give the job back at once, so that another worker can take over."""
        begin_context(**self._claim.log_fields)
        self._log("attempt %d begins", self._claim.attempt)
        ended = False
        unexpected = "it ended by an error that nobody expects, and that is in the operator's log"
        crash = Crash.died(self._settings, unexpected)
        try:
            self._heartbeat.start()
            ended = self._persist(self._conclude())
        except ShutDownImminentException:
            self._heartbeat.stop()
            self._release()
            ended = True
        except WorkerFault as fault:
            self._monitor.tally.outcome = "unfit"
            self._log("given up, because this worker is unfit: %s", fault, level=logging.ERROR)
            self._heartbeat.stop()
            crash = Crash.unfit(self._settings, fault.code)
            ended = self._end_soon(partial(endings.requeue, crash=crash))
            raise
        finally:
            self._heartbeat.stop()
            if not ended:  # after a lost claim this changes nothing, because the fence keeps it out
                self._end_soon(partial(endings.requeue, crash=crash))
            self._monitor.tally.write(self._database, self._claim.owner_id)

    def _release(self) -> None:
        """Give the job back for a shutdown. Where a machine stops, Postgres may be gone before its workers."""
        self._monitor.tally.outcome = "released"
        if self._end_soon(endings.requeue):
            self._log("released for a shutdown")
        else:
            self._log("not released: the lease will run out", level=logging.WARNING)

    def _conclude(self) -> Ending:
        """Compute, and return the last write of the run."""
        limits = self._deadline, self._deadline + self._reserve / 2
        run = Selecting(self._claim, self._settings, self._monitor, *limits, self._transact, self._log)
        try:
            return partial(endings.finish, result=run.select())
        except NothingSelected:
            return endings.finish_cancelled
        except (ModelMoved, EndpointAway) as error:
            return self._pass_on(error)
        except SpecUnreadable as error:
            self._log("failed: %s", summarize(error))
            described = problem(error.code, str(error), instance=self._claim.path, errors=error.errors)
            return partial(endings.fail, problem=described)
        except JobTimeoutException:
            return partial(endings.finish_late, problem=describe_timeout(self._settings, self._claim))
        except (InvalidInput, ModelError, MemoryError) as error:
            self._log("failed: %s", summarize(error))
            return partial(endings.fail, problem=describe_failure(error, self._claim.path))

    def _pass_on(self, error: ModelMoved | EndpointAway) -> Ending:
        """Leave the job to another worker, or to a time when the server answers. The wait doubles with each attempt."""
        self._log("left to a later attempt: %s", summarize(error), level=logging.WARNING)
        seconds = min(backoff_seconds(self._claim.attempt, self._settings), _LONGEST_WAIT_SECONDS)
        return partial(endings.requeue, event=(error.code, {"detail": tell_owner(error)}), wait_seconds=seconds)

    def _persist(self, ending: Ending) -> bool:
        """Make the last write; False when the claim is lost, to another attempt or with the heartbeat.

        The time limit may end while the write waits. It ends once, and RQ's parent process allows the run another
        minute, so the result is not thrown away.
        """
        try:
            return self._write(ending)
        except JobTimeoutException:
            self._log("the time limit ended during the last write, which is repeated")
            return self._write(ending)

    def _write(self, ending: Ending) -> bool:
        self._heartbeat.stop()
        held = not self._monitor.is_lost and self._transact(lambda session: ending(session, self._claim))
        self._monitor.tally.outcome = "ended" if held else "lost"
        self._log("attempt %d " + ("ends" if held else "writes nothing: the claim is lost"), self._claim.attempt)
        return held

    def _transact(self, write: Callable[[Session], T]) -> T:
        return commit_with_patience(self._database, write, _PATIENCE_SECONDS, longest_pause(self._settings))

    def _end_soon(self, ending: Ending) -> bool:
        """A last write that must not hold up the exit."""
        try:
            return commit_with_patience(
                self._database, lambda session: ending(session, self._claim), _HURRIED_PATIENCE_SECONDS
            )
        except POSTGRES_AWAY:
            return False

    def _log(self, message: str, *values: object, level: int = logging.INFO) -> None:
        _log.log(level, f"%s: {message}", self._claim.job_id, *values)
