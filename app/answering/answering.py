"""Asks classifiers for texts, batch by batch, in one thread."""

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from threading import Event

from app.answering.models import ModelKey, Models
from app.answering.subjects import Subject
from app.answering.waiting import AskedTexts, Waiting
from app.errors import AppError, ModelMismatch, ModelUnusable, Unavailable, Unprocessable, make_internal_error
from app.logs.failures import summarize
from lens_engine import errors
from lens_engine.evaluation.rows import Prediction, predict_rows
from lens_engine.reading import TextRow
from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.interruption import interrupted_by

GATHER_SECONDS = 0.003
"""Time for which a short request waits for others, if nothing is computed anyway."""

_log = logging.getLogger(__name__)


class Closing(Exception):
    """The process ends: the batch under way is given up."""


class Answering:
    """Computes what is asked. One thread computes, because models are no faster with more.

    Args:
        models: that classifiers ask; None where they look at words alone.
        note_batch: is told the number of texts of each batch.
        note_fault: is told how many batches in a row ended by an error that is no fault of theirs or of the model.
    """

    def __init__(
        self,
        models: Models | None,
        *,
        gather_seconds: float = GATHER_SECONDS,
        note_batch: Callable[[int], None] = lambda _: None,
        note_fault: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._models = models
        self._gather_seconds = gather_seconds
        self._note_batch, self._note_fault = note_batch, note_fault
        self._waiting = Waiting()
        self._computer = ThreadPoolExecutor(1, "lens-answers")
        self._closing = Event()
        self._faults = 0

    def ask(self, subject: Subject, texts: Sequence[str]) -> "Future[list[Prediction]]":
        """Begin to ask for at least one and at most 256 texts, none of them blank. Cancel it if nobody waits for it.

        The future raises an AppError, as this method does.

        Raises:
            Busy: too much waits already.
            ModelLoading: the model is being opened.
            ModelUnusable: it cannot be opened.
        """
        self._find_scorer(subject)
        asked = AskedTexts(subject, list(texts))
        self._waiting.add(asked)
        try:
            self._computer.submit(self._compute_next)
        except RuntimeError:
            raise Unavailable("the process ends; repeat the request") from None
        return asked.answer

    def close(self) -> None:
        """Give up what is computed and what waits."""
        self._closing.set()
        self._computer.shutdown(cancel_futures=True)
        for batch in iter(self._waiting.take, []):
            for asked in batch:
                self._fail(asked, Closing())
        if self._models is not None:
            self._models.close()

    def _compute_next(self) -> None:
        """Compute a batch, if one is left: each request calls for one, and may have been computed with others."""
        time.sleep(self._waiting.seconds_to_gather(self._gather_seconds))
        batch = self._waiting.take()
        if batch and not self._try(batch) and len(batch) > 1:
            for asked in batch:  # the fault of one is no fault of the others
                self._try([asked])

    def _try(self, batch: Sequence[AskedTexts]) -> bool:
        """Compute a batch. Returns False if it failed, and its requests may succeed one by one."""
        try:
            predictions = iter(self._predict(batch[0].subject, [text for one in batch for text in one.texts]))
        except Exception as error:  # noqa: BLE001 - those who wait are told
            if len(batch) > 1 and not isinstance(error, Closing):
                return False
            for asked in batch:
                self._fail(asked, error)
            return True
        self._faults = 0
        for asked in batch:
            asked.answer.set_result([next(predictions) for _ in asked.texts])
        return True

    def _predict(self, subject: Subject, texts: Sequence[str]) -> list[Prediction]:
        with self._models.computing if self._models is not None else nullcontext(), interrupted_by(self._heed_close):
            scorer = self._find_scorer(subject)
            self._note_batch(len(texts))
            return predict_rows(subject.classifier, [TextRow(text) for text in texts], scorer)

    def _find_scorer(self, subject: Subject) -> LabelScorer | None:
        """
        Raises:
            ModelLoading, ModelUnusable: as `ask`.
        """
        model = subject.classifier.model
        if model is None or self._models is None:
            return None
        try:
            return self._models.find(ModelKey(model.model, model.dtype))
        except errors.LensError as error:
            raise refuse(error) from None

    def _heed_close(self) -> None:
        if self._closing.is_set():
            raise Closing

    def _fail(self, asked: AskedTexts, error: Exception) -> None:
        refusal = refuse(error)
        if refusal.status == AppError.status:
            self._faults += 1
            _log.error(
                "texts were not answered: %s", summarize(error), exc_info=error, extra={"action": "answer-failed"}
            )
            self._note_fault(self._faults)
        asked.answer.set_exception(refusal)


def refuse(error: Exception) -> AppError:
    """The error as those who ask are told, without what a server said: that may name hosts, or repeat part of a key."""
    if isinstance(error, AppError):
        return error
    if isinstance(error, Closing):
        return Unavailable("the process ends; repeat the request")
    if isinstance(error, errors.ModelMismatch):
        return ModelMismatch(str(error))
    if isinstance(error, errors.EndpointError):
        status = Unavailable.status if isinstance(error, errors.EndpointAway) else ModelUnusable.status
        return ModelUnusable(error.code, error.sentence, status)
    if isinstance(error, errors.ModelError):
        return ModelUnusable(error.code, str(error))
    return Unprocessable(str(error)) if isinstance(error, errors.InvalidInput) else make_internal_error()
