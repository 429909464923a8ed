"""Rows that are asked batch by batch, and kept."""

from collections.abc import Sequence

import pytest

from lens_engine.classifier.classifier import ModelRecord
from lens_engine.evaluation.batches import BATCH_ROWS, BatchPredictor, Prediction, RowProgress, batches_of, predict_rows
from lens_engine.metering.limits import Stopped
from lens_engine.reading import TextRow
from lens_engine.testing import TableScorer
from lens_engine.types import StopReason
from tests.unit.lens_cli.results import CLASSIFIER

ROWS = [TextRow(f"Film {number}, a joy") for number in range(2 * BATCH_ROWS + 40)]


class Kept(list[Prediction]):
    """An `AnswerStore` in memory."""

    def take_up(self, _: ModelRecord | None) -> int:
        return len(self)

    def read(self, start: int, limit: int) -> Sequence[Prediction]:
        return self[start : start + limit]

    def keep(self, start: int, answers: Sequence[Prediction]) -> None:
        assert start == len(self)
        self.extend(answers)


class Heard(list[RowProgress]):
    """A `RowListener` that asks for a stop once `stop_at` rows are done."""

    stop_at = len(ROWS) + 1

    def on_rows(self, progress: RowProgress) -> None:
        self.append(progress)

    def stop_requested(self) -> StopReason | None:
        return StopReason.CANCELLED if self and self[-1].done >= self.stop_at else None


def ask(store: Kept, listener: Heard, scorer: TableScorer) -> list[Prediction]:
    times = iter(range(0, 1000, 10))
    predictor = BatchPredictor(scorer, listener, len(ROWS), clock=lambda: next(times))
    return [one for batch in predictor.predict(CLASSIFIER, batches_of(ROWS), len(ROWS), store) for one in batch]


def test_stopped_run_goes_on_after_the_last_batch_that_is_kept() -> None:
    store, listener, scorer = Kept(), Heard(), TableScorer()
    listener.stop_at = BATCH_ROWS
    with pytest.raises(Stopped):
        ask(store, listener, scorer)
    assert (len(store), scorer.num_calls) == (BATCH_ROWS, 1)

    found = ask(store, Heard(), scorer)

    whole = [ROWS[start : start + BATCH_ROWS] for start in range(0, len(ROWS), BATCH_ROWS)]
    assert found == store == [one for batch in whole for one in predict_rows(CLASSIFIER, batch, TableScorer())]


def test_speed_leaves_out_the_rows_that_were_kept() -> None:
    listener, answers = Heard(), predict_rows(CLASSIFIER, ROWS[:BATCH_ROWS], TableScorer())
    ask(Kept(answers), listener, TableScorer())
    done = [BATCH_ROWS, 2 * BATCH_ROWS, len(ROWS)]
    assert [one.done for one in listener] == done
    assert [one.per_second for one in listener] == [None, BATCH_ROWS / 20, (BATCH_ROWS + 40) / 30]
