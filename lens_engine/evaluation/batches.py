"""Asks a classifier for many rows, batch by batch.

The batches of a resumed run are those of an undisturbed run. So no row is computed twice, and the bytes are the same.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Protocol

import numpy as np

from lens_engine.classifier.classifier import BATCH_TEXTS, Classifier
from lens_engine.errors import InvalidInput, PromptTooLong
from lens_engine.files import TextRow
from lens_engine.metering.limits import Stopped
from lens_engine.model.base import LabelScorer
from lens_engine.model.interruption import interrupted_by
from lens_engine.model.limits import find_rows
from lens_engine.types import Record, StopReason

BATCH_ROWS = BATCH_TEXTS
"""Number of rows classified at a time. A batch is one call of the scorer, as in `Classifier.predict`, because a 16-bit
score may depend on the texts scored in the same call."""


NO_ANSWER = "the model gave no answer: its server refuses the text for its content, or what it says is no label"
"""Error of a row that counts as wrong."""


class Prediction(Record):
    """What the classifier says about one row."""

    label: str | None = None  #: None: the row is bad
    probabilities: tuple[float, ...] = ()
    """In the order of `Classifier.labels`, as 32-bit floats, which is how they are stored; empty for a bad row."""
    error: str | None = None
    code: str | None = None  #: of the error
    is_cut: bool = False  #: whether the text was longer than those of the report, and was cut as they were

    @property
    def probability(self) -> float | None:
        """Probability of the predicted label; None for a bad row."""
        return max(self.probabilities, default=None)


def predict_rows(classifier: Classifier, rows: Sequence[TextRow], scorer: LabelScorer | None) -> list[Prediction]:
    """One prediction for each row, in order.

    Raises:
        ModelMismatch: the scorer is another model or another revision.
        ModelError: the model could not score the rows.
    """
    errors = {place: _refuse(row.fault) for place, row in enumerate(rows) if row.fault is not None}
    places = [place for place in range(len(rows)) if place not in errors]
    lengths = dict.fromkeys(places, 1)
    if scorer is not None:
        task = classifier.task.task()
        counts = scorer.count_tokens([task.render_query(rows[place].text) for place in places])
        lengths = dict(zip(places, counts, strict=True))
    errors |= {place: _refuse("the text has no tokens for this model") for place, one in lengths.items() if not one}
    good = sorted(lengths.keys() - errors.keys())
    sizes = dict[int, int]()
    while True:
        try:
            found = classifier.predict([rows[place].text for place in good], scorer)
            break
        except PromptTooLong:
            if scorer is None:
                raise
            # The scorer refuses the whole batch, before it computes anything, because of its longest prompt.
            sizes = sizes or _measure_prompts(classifier, {place: rows[place].text for place in good}, scorer)
            longest = max(good, key=lambda place: sizes[place])
            fault = f"the text is too long: a prompt exceeds the model's {scorer.max_prompt_tokens:,} tokens"
            errors[longest] = _refuse(fault, PromptTooLong.code)
            good.remove(longest)
    shares = found.probabilities.astype(np.float32).tolist()
    predictions = {
        place: Prediction(
            label=label,
            probabilities=tuple(probabilities),
            is_cut=classifier.most_tokens is not None and lengths[place] > classifier.most_tokens,
        )
        for place, label, probabilities in zip(good, found.labels, shares, strict=True)
    }
    for place in compress(good, find_rows(np.log(found.probabilities).round(6))):
        predictions[place] = _refuse(NO_ANSWER)
    return [predictions.get(place) or errors[place] for place in range(len(rows))]


def _refuse(fault: str, code: str = InvalidInput.code) -> Prediction:
    return Prediction(error=fault, code=code)


def _measure_prompts(classifier: Classifier, texts: Mapping[int, str], scorer: LabelScorer) -> dict[int, int]:
    """Number of tokens of each text as it is asked, with the demonstrations that are found for it."""
    task, asked = classifier.task.task(), classifier.cut(list(texts.values()), scorer)
    sizes = scorer.count_tokens([task.render_query(text) for text in asked])
    if classifier.retrieval is not None:
        prefixes = classifier.find_prefixes(asked)
        known = dict.fromkeys(segment for prefix in prefixes for segment in prefix)
        counts = dict(zip(known, scorer.count_tokens(list(known)), strict=True))
        sizes = [own + sum(counts[segment] for segment in prefix) for own, prefix in zip(sizes, prefixes, strict=True)]
    return dict(zip(texts, sizes, strict=True))


@dataclass(frozen=True, slots=True)
class RowProgress:
    """How far a run over rows is."""

    done: int  #: rows, with those of earlier runs
    total: int
    per_second: float | None  #: rows; None before any was asked


class RowListener(Protocol):
    """Hears how far a run over rows is, and may ask it to stop. The computing thread calls it."""

    def on_rows(self, progress: RowProgress) -> None: ...

    def stop_requested(self) -> StopReason | None:
        """A reason to stop at once, between two batches or two layers of the model; None to continue."""


def predict_batches(
    classifier: Classifier,
    rows: Sequence[TextRow],
    scorer: LabelScorer | None,
    listener: RowListener,
    num_known: int = 0,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Sequence[Prediction]]:
    """The answers to each batch, in order.

    Args:
        num_known: number of rows, in whole batches, that an earlier run asked; they are not asked again.
        clock: seconds.

    Raises:
        Stopped: the listener asked for a stop.
        ModelMismatch, ModelError: as `predict_rows`.
    """

    def heed_stop() -> None:
        reason = listener.stop_requested()
        if reason is not None:
            raise Stopped(reason)

    def report(done: int) -> None:
        asked, seconds = done - num_known, clock() - began
        listener.on_rows(RowProgress(done, len(rows), asked / seconds if asked and seconds > 0 else None))

    began = clock()
    report(num_known)
    for start in range(num_known, len(rows), BATCH_ROWS):
        heed_stop()
        with interrupted_by(heed_stop):
            answers = predict_rows(classifier, rows[start : start + BATCH_ROWS], scorer)
        yield answers
        report(start + len(answers))
