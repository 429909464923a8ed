"""Evaluations and predictions: a classifier is asked row by row, and each batch of answers is kept under the claim.

The next attempt goes on after the last row that is kept. An attempt with another model, number format or device begins
again.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from app.kinds.evaluation_schemas import EvaluationOutcome, load_evaluation
from app.kinds.prediction_schemas import PredictionOutcome, load_prediction
from app.lifecycle.kept_answers import keep_predictions, note_payment, take_up_rows
from app.lifecycle.results import Outcome
from app.store.rows import read_predictions, read_texts
from lens_engine.classifier.prompt import ModelRecord
from lens_engine.errors import BudgetSpent
from lens_engine.evaluation.batches import BatchPredictor, RowProgress
from lens_engine.evaluation.evaluation import Evaluation
from lens_engine.evaluation.rows import BATCH_ROWS, Prediction
from lens_engine.metering.cost import Cost
from lens_engine.metering.limits import Money, Stopped
from lens_engine.reading import TextRow
from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.spending import Paid
from lens_engine.types import StopReason
from worker.faults import blaming_worker
from worker.job_context import JobContext
from worker.model_loading import find_reference


def run_prediction(run: JobContext) -> Outcome | None:
    """Predict the rows that have no answer yet. Neither all texts nor all answers are in memory at once."""
    work = run.transact(lambda session: load_prediction(session, run.claim.job_id))
    spec, digest = work.spec, hashlib.sha256()
    dtype = None if spec.classifier.model is None else spec.classifier.model.dtype
    scorer = _load(run, spec.model, dtype)
    spec.classifier.check_model(scorer)
    answers = JobAnswers(run, scorer)
    predictor = BatchPredictor(scorer, answers, work.num_rows, answers.paying)

    def read(start: int) -> Sequence[TextRow]:
        return run.transact(lambda session: read_texts(session, work.dataset_id, start, BATCH_ROWS))

    try:
        for batch in predictor.predict(spec.classifier, read, work.num_rows, answers):
            for one in batch:
                digest.update(one.model_dump_json().encode() + b"\n")
    except Stopped:
        return None
    return PredictionOutcome(digest.hexdigest(), dtype)


def run_evaluation(run: JobContext) -> Outcome | None:
    """Predict the rows that have no answer yet, then the same prompt in other orders, and measure."""
    work = run.transact(lambda session: load_evaluation(session, run.claim.job_id))
    spec = work.spec
    evaluation = Evaluation(spec.subject, work.examples, spec.changes, dict(spec.known), spec.orders, spec.seed)
    own = evaluation.classifier.model
    scorer = _load(run, spec.model, None if own is None or spec.is_other_model else own.dtype)
    answers = JobAnswers(run, scorer)
    try:
        return EvaluationOutcome(evaluation.run(scorer, answers, answers, answers.paying).result)
    except Stopped:
        return None


def _load(run: JobContext, model: str | None, dtype: str | None) -> LabelScorer | None:
    if model is None:
        return None
    find_reference(run.settings, model)
    # Without the pair cache: the texts of production would displace the scores of selections.
    return run.load(model, dtype, is_search=False).scorer


class JobAnswers:
    """The answers of one job in Postgres, and what they cost: the engine's `AnswerStore` and `RowListener`."""

    def __init__(self, run: JobContext, scorer: LabelScorer | None) -> None:
        self._run = run
        self._money = Money(scorer, (), run.settings.max_cost_usd)
        self._noted_usd = 0.0
        self._progress: RowProgress | None = None

    def take_up(self, model: ModelRecord | None) -> int:
        stored = None if model is None else model.model_dump(mode="json")
        earlier = self._run.transact(lambda session: take_up_rows(session, self._run.claim, stored))
        self._money.resume(Paid(earlier.paid_usd))
        self._noted_usd = earlier.paid_usd
        return earlier.num_rows

    def read(self, start: int, limit: int) -> Sequence[Prediction]:
        job_id = self._run.claim.job_id
        return self._run.transact(partial(read_predictions, job_id=job_id, first=start, limit=limit))

    def keep(self, start: int, answers: Sequence[Prediction]) -> None:
        claim, usd = self._run.claim, self._money.paid.usd
        if not self._run.transact(lambda session: keep_predictions(session, claim, start, answers, usd)):
            self._run.monitor.lose()
            raise Stopped(StopReason.CANCELLED)
        self._noted_usd = usd

    def on_rows(self, progress: RowProgress) -> None:
        self._progress = progress
        self._run.monitor.on_progress(progress.as_progress())
        if (usd := self._money.paid.usd) != self._noted_usd:  # answers in other orders are paid, and not kept
            self._run.transact(partial(note_payment, claim=self._run.claim, paid_usd=usd))
            self._noted_usd = usd

    def stop_requested(self) -> StopReason | None:
        return self._run.monitor.stop_requested()

    @contextmanager
    def paying(self) -> Iterator[None]:
        """A context in which a batch is asked, within what the operator lets a job cost over all attempts.

        Raises:
            BudgetSpent: the next request may cost more than is left.
            WorkerFault: as `blaming_worker`.
        """
        try:
            with blaming_worker(), self._money.limited(Cost()):
                yield
        except BudgetSpent as error:
            raise BudgetSpent(self._describe_limit()) from error
        finally:  # part of a batch is paid too, whatever ended it
            if self._money.asks_server:
                self._run.monitor.paid_usd = self._money.paid.usd

    def _describe_limit(self) -> str:
        rows, kind = self._progress, self._run.claim.kind
        asked = "" if rows is None else f" for {rows.done:,} of {rows.total:,} rows"
        most = f"{self._run.settings.max_cost_usd:,.12g} USD a job"
        return f"the {kind} cost {self._money.paid.usd:.4f} USD{asked}, and this service allows {most}; send fewer rows"
