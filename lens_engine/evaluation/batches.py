"""Asks a classifier for many rows, batch by batch, keeps each batch, and goes on after the last one that is kept.

The batches of a resumed run are those of an undisturbed run. So no row is computed twice, and the bytes are the same.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.prompt import ModelRecord
from lens_engine.evaluation.rows import BATCH_ROWS, Prediction, predict_rows
from lens_engine.metering.limits import Stopped
from lens_engine.reading import TextRow
from lens_engine.scoring.base import LabelScorer
from lens_engine.scoring.interruption import interrupted_by
from lens_engine.types import StopReason

ReadRows = Callable[[int], Sequence[TextRow]]
"""Place of the first row -> the rows of its batch."""


def batches_of(rows: Sequence[TextRow]) -> ReadRows:
    """Reads rows that are in memory."""
    return lambda start: rows[start : start + BATCH_ROWS]


class AnswerStore(Protocol):
    """Keeps the answers of one classifier to the rows, in order."""

    def take_up(self, model: ModelRecord | None) -> int:
        """Number of rows that have an answer of this model by an earlier run; None for a bag of words.

        Answers of another model are forgotten.
        """

    def read(self, start: int, limit: int) -> Sequence[Prediction]:
        """Answers of an earlier run, from the place `start` on."""

    def keep(self, start: int, answers: Sequence[Prediction]) -> None:
        """Keep the answers to the rows from the place `start` on.

        Raises:
            Stopped: another run has taken the rows over.
        """


@dataclass(frozen=True, slots=True)
class RowProgress:
    """How far a run over rows is."""

    done: int  #: rows, with those of earlier runs
    total: int
    per_second: float | None  #: rows; None before any was asked
    pairs: int  #: of one row
    tokens: float  #: of one row


class RowListener(Protocol):
    """Hears how far a run over rows is, and may ask it to stop. The computing thread calls it."""

    def on_rows(self, progress: RowProgress) -> None: ...

    def stop_requested(self) -> StopReason | None:
        """A reason to stop at once, between two batches or two layers of the model; None to continue."""


@dataclass
class BatchPredictor:
    """Asks classifiers for many rows, batch by batch, and tells how far it is.

    Args:
        num_rows: number of rows that are asked, of all classifiers together.
        guard: context in which the model is asked for a batch.
    """

    scorer: LabelScorer | None
    listener: RowListener
    num_rows: int
    guard: Callable[[], AbstractContextManager[object]] = nullcontext
    clock: Callable[[], float] = time.monotonic
    _num_done: int = field(init=False, default=0)  #: with rows of earlier runs
    _num_asked: int = field(init=False, default=0)
    _began_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._began_at = self.clock()

    def predict(
        self, classifier: Classifier, read: ReadRows, num_rows: int, store: AnswerStore | None = None
    ) -> Iterator[Sequence[Prediction]]:
        """The answers to each batch, in order: those that the store has, then those of the model.

        Raises:
            Stopped: the listener asked for a stop, or the store has lost the rows.
            ModelMismatch, ModelError: as `predict_rows`.
        """
        num_kept = 0
        if store is not None:
            num_kept = store.take_up(None if self.scorer is None else ModelRecord.of(self.scorer.identity))
            for start in range(0, num_kept, BATCH_ROWS):
                yield store.read(start, BATCH_ROWS)
        self._num_done += num_kept
        self._report(classifier)
        for start in range(num_kept, num_rows, BATCH_ROWS):
            self._heed_stop()
            batch = read(start)
            with self.guard(), interrupted_by(self._heed_stop):
                answers = predict_rows(classifier, batch, self.scorer)
            if store is not None:
                store.keep(start, answers)
            yield answers
            self._num_done, self._num_asked = self._num_done + len(batch), self._num_asked + len(batch)
            self._report(classifier)

    def _heed_stop(self) -> None:
        reason = self.listener.stop_requested()
        if reason is not None:
            raise Stopped(reason)

    def _report(self, classifier: Classifier) -> None:
        seconds = self.clock() - self._began_at
        pace = self._num_asked / seconds if self._num_asked and seconds > 0 else None
        pairs, tokens = max(len(classifier.prompts), 1), classifier.tokens_per_input
        self.listener.on_rows(RowProgress(self._num_done, self.num_rows, pace, pairs, tokens))
