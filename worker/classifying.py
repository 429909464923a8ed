"""Evaluations and predictions: a classifier is asked row by row, in batches, and each batch is kept at once.

The next attempt goes on after the last row that is kept, with the batches of an undisturbed run. So no row is computed
twice, and the bytes are the same. An attempt with another model, number format or device begins again.
"""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Self

from app.kinds.evaluation_schemas import EvaluationOutcome, load_evaluation
from app.kinds.prediction_schemas import PredictionOutcome, load_prediction
from app.lifecycle.kept_answers import Earlier, keep_predictions, note_payment, take_up_rows
from app.lifecycle.results import Outcome
from app.store.rows import read_predictions, read_texts
from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.prompt import ModelRecord
from lens_engine.errors import BudgetSpent
from lens_engine.metering.meter import Stopped
from lens_engine.metering.progress import Progress
from lens_engine.predicting.answers import Answers
from lens_engine.predicting.evaluation import measure, measure_orders
from lens_engine.predicting.rows import BATCH_ROWS, Prediction, predict_rows
from lens_engine.predicting.subject import PromptSubject, classifier_of, make_classifier
from lens_engine.reading import TextRow
from lens_engine.result import Spread
from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.interruption import interrupted_by
from lens_engine.types import Example, Phase, StopReason
from worker.faults import blaming_worker
from worker.model_loading import find_reference
from worker.purse import Purse
from worker.running import Running

ReadRows = Callable[[int], Sequence[TextRow]]
"""Place of the first row -> the rows of its batch."""


def run_prediction(run: Running) -> Outcome | None:
    """Predict the rows that have no answer yet. Neither all texts nor all answers are in memory at once."""
    work = run.transact(lambda session: load_prediction(session, run.claim.job_id))
    spec = work.spec
    dtype = None if spec.classifier.model is None else spec.classifier.model.dtype
    scorer = _load(run, spec.model, dtype)
    spec.classifier.check_model(scorer)
    done = _take_up(run, scorer)
    digest = hashlib.sha256()

    def note(answers: Sequence[Prediction]) -> None:
        for one in answers:
            digest.update(one.model_dump_json().encode() + b"\n")

    def read(start: int) -> Sequence[TextRow]:
        return run.transact(lambda session: read_texts(session, work.dataset_id, start, BATCH_ROWS))

    for earlier in _read_kept(run, done.num_rows):
        note(earlier)
    asking = _Asking.of(run, scorer, spec.classifier, work.num_rows, done)
    try:
        for answers in asking.predict(spec.classifier, read, work.num_rows, done.num_rows):
            note(answers)
    except Stopped:
        return None
    return PredictionOutcome(digest.hexdigest(), dtype)


def run_evaluation(run: Running) -> Outcome | None:
    """Predict the rows that have no answer yet, then the same prompt in other orders, and measure."""
    work = run.transact(lambda session: load_evaluation(session, run.claim.job_id))
    spec = work.spec
    subject = spec.subject
    own = classifier_of(subject).model
    scorer = _load(run, spec.model, None if own is None or spec.is_other_model else own.dtype)
    classifier = make_classifier(subject, spec.changes, scorer)
    orders = subject.reorder(spec.orders, spec.seed) if isinstance(subject, PromptSubject) else []
    others = [make_classifier(one, spec.changes, scorer) for one in orders]
    rows = [TextRow(example.text) for example in work.examples]
    done = _take_up(run, scorer)
    own_answers = Answers(classifier.labels, work.examples)
    for earlier in _read_kept(run, done.num_rows):
        own_answers.extend(earlier)
    asking = _Asking.of(run, scorer, classifier, len(rows) * (1 + len(others)), done)
    try:
        for answers in asking.predict(classifier, _batches_of(rows), len(rows), done.num_rows):
            own_answers.extend(answers)
        order = _measure_orders(asking, others, work.examples, rows)
    except Stopped:
        return None
    known = dict(spec.known) or None
    notes = subject.notes if isinstance(subject, PromptSubject) else ()
    return EvaluationOutcome(
        measure(classifier, spec.changes, work.examples, own_answers, known=known, order=order, notes=notes)
    )


def _measure_orders(
    asking: "_Asking", others: Sequence[Classifier], examples: Sequence[Example], rows: Sequence[TextRow]
) -> Spread | None:
    """The accuracies of the other orders. Their answers are not kept: an attempt that is lost asks them again."""
    found = list[Answers]()
    for other in others:
        found.append(Answers(other.labels, examples))
        for answers in asking.predict(other, _batches_of(rows), len(rows), keeps=False):
            found[-1].extend(answers)
    return measure_orders(found) if found else None


def _batches_of(rows: Sequence[TextRow]) -> ReadRows:
    return lambda start: rows[start : start + BATCH_ROWS]


def _take_up(run: Running, scorer: LabelScorer | None) -> Earlier:
    """What earlier attempts had of the model that is asked now."""
    model = None if scorer is None else ModelRecord.of(scorer.identity).model_dump(mode="json")
    return run.transact(lambda session: take_up_rows(session, run.claim, model))


def _read_kept(run: Running, num_rows: int) -> Iterator[list[Prediction]]:
    """The answers of earlier attempts."""
    for start in range(0, num_rows, BATCH_ROWS):
        limit = min(BATCH_ROWS, num_rows - start)
        yield run.transact(partial(read_predictions, job_id=run.claim.job_id, first=start, limit=limit))


def _load(run: Running, model: str | None, dtype: str | None) -> LabelScorer | None:
    if model is None:
        run.monitor.begin()
        return None
    find_reference(run.settings, model)
    # Without the pair cache: the texts of production would displace the scores of selections.
    scorer = run.load(model, dtype, is_search=False).scorer
    run.monitor.begin()
    return scorer


@dataclass
class _Asking:
    """Asks a classifier for many rows, and tells how far it is."""

    run: Running
    scorer: LabelScorer | None
    purse: Purse
    num_rows: int
    tokens_per_row: float
    pairs_per_row: int
    _done: int = 0  #: rows, with those of earlier attempts
    _asked: int = 0  #: rows of this attempt
    _began_at: float = field(default_factory=time.monotonic)

    @classmethod
    def of(
        cls, run: Running, scorer: LabelScorer | None, classifier: Classifier, num_rows: int, earlier: Earlier
    ) -> Self:
        purse = Purse.open(scorer, earlier.paid_usd, run.settings.max_cost_usd)
        return cls(run, scorer, purse, num_rows, classifier.tokens_per_input, max(len(classifier.prompts), 1))

    def predict(
        self, classifier: Classifier, read: ReadRows, num_rows: int, num_done: int = 0, *, keeps: bool = True
    ) -> Iterator[Sequence[Prediction]]:
        """The answers of the rows from `num_done` on, batch by batch.

        Raises:
            Stopped: the owner asks for a stop, or the claim is lost.
            BudgetSpent: the job reached the operator's limit on its cost.
        """
        self._done += num_done
        self._report()
        while num_done < num_rows:
            self._hear()
            batch = read(num_done)
            with blaming_worker(), interrupted_by(self._hear):
                answers = self._ask(classifier, batch)
            if keeps:
                self._keep(num_done, answers)
            elif self.purse.scorer is not None:
                claim, paid_usd = self.run.claim, self.purse.paid_usd
                self.run.transact(partial(note_payment, claim=claim, paid_usd=paid_usd))
            yield answers
            num_done += len(batch)
            self._done, self._asked = self._done + len(batch), self._asked + len(batch)
            self._report()

    def _ask(self, classifier: Classifier, batch: Sequence[TextRow]) -> list[Prediction]:
        try:
            return predict_rows(classifier, batch, self.scorer)
        except BudgetSpent as error:
            raise BudgetSpent(
                f"the {self.run.claim.kind} cost {self.purse.paid_usd:.4f} USD for {self._done:,} of "
                f"{self.num_rows:,} rows, and this service allows {self.run.settings.max_cost_usd:,.12g} USD a job; "
                "send fewer rows"
            ) from error
        finally:  # part of a batch is paid too, whatever ended it
            if self.purse.scorer is not None:
                self.run.monitor.paid_usd = self.purse.paid_usd

    def _keep(self, start: int, answers: Sequence[Prediction]) -> None:
        claim, paid_usd = self.run.claim, self.purse.paid_usd
        if not self.run.transact(lambda session: keep_predictions(session, claim, start, answers, paid_usd)):
            self.run.monitor.lose()
            raise Stopped(StopReason.CANCELLED)

    def _hear(self) -> None:
        reason = self.run.monitor.stop_requested()
        if reason is not None:
            raise Stopped(reason)

    def _report(self) -> None:
        seconds = time.monotonic() - self._began_at
        pace = self._asked / seconds if self._asked and seconds > 0 else None
        self.run.monitor.on_progress(
            Progress(
                phase=Phase.CLASSIFY,
                step=-(-self._done // BATCH_ROWS),
                steps=-(-self.num_rows // BATCH_ROWS),
                pairs_done=self._done * self.pairs_per_row,
                pairs_total=self.num_rows * self.pairs_per_row,
                tokens_done=round(self._done * self.tokens_per_row),
                tokens_total=round(self.num_rows * self.tokens_per_row),
                tokens_per_second=None if pace is None else pace * self.tokens_per_row,
                eta_seconds=None if pace is None else (self.num_rows - self._done) / pace,
                best_validation_accuracy=None,
            )
        )
