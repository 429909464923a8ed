"""Asks a classifier for many rows, batch by batch, and keeps of the answers what an evaluation needs.

The batches of a resumed run are those of an undisturbed run. So no row is computed twice, and the bytes are the same.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lens_engine.classifier.classifier import BATCH_TEXTS, Classifier
from lens_engine.classifier.quality import RowFigures
from lens_engine.classifier.regression import LEAST_LOG_PROB
from lens_engine.errors import InvalidDataset, InvalidInput, PromptTooLong
from lens_engine.files import TextRow
from lens_engine.metering.limits import Stopped
from lens_engine.model.base import LabelScorer
from lens_engine.model.limits import find_rows, interrupted_by
from lens_engine.prompt.record import TaskRecord
from lens_engine.prompt.text_checks import fold_text
from lens_engine.prompt.wording import show_count, show_label
from lens_engine.types import Example, IndexArray, Record, StopReason

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


_MOST_LISTED = 10
_NONE = -1
"""Place of the answer to a bad row."""


class Answers:
    """The answers to labelled rows, in a few numbers a row: 200 labels take no more memory than two."""

    def __init__(self, labels: Sequence[str], examples: Sequence[Example]) -> None:
        """No answer yet. `labels`: of the classifier, in the order of its probabilities.

        Raises:
            InvalidDataset: a row has a label that the classifier does not know.
        """
        self._place_of = {label: place for place, label in enumerate(labels)}
        self.classes, self.examples = tuple(labels), join_labels(labels, examples)
        self.num_cut = 0  #: number of rows whose text was cut
        self.gold: IndexArray = np.array([self._place_of[one.label] for one in self.examples], dtype=np.intp)
        self._num_rows = 0
        self._reason: str | None = None  #: why the first bad row has no answer
        self._answers: IndexArray = np.full(len(self.examples), _NONE)
        self._of_answer, self._of_gold = np.ones((2, len(self.examples)))  # probabilities

    def __len__(self) -> int:
        """The number of rows whose answers are here, those of bad rows too."""
        return self._num_rows

    def extend(self, predictions: Iterable[Prediction]) -> None:
        """Add what the classifier says of the next rows."""
        for place, one in enumerate(predictions, self._num_rows):
            self._num_rows += 1
            self.num_cut += one.is_cut
            if one.label is not None:
                self._answers[place] = self._place_of[one.label]
                self._of_answer[place] = one.probability
                self._of_gold[place] = one.probabilities[self.gold[place]]
            elif one.error == NO_ANSWER:
                self._answers[place] = (self.gold[place] + 1) % len(self.classes)
                self._of_answer[place] = self._of_gold[place] = 0.0
            self._reason = self._reason or one.error

    @property
    def is_answer(self) -> NDArray[np.bool_]:
        """`[rows]`, whether the row has an answer; a bad row has none."""
        return np.asarray(self._answers != _NONE)

    @property
    def hits(self) -> NDArray[np.bool_]:
        """`[rows]`, whether the answer is the label of the row."""
        return np.asarray(self._answers == self.gold)

    def figures(self) -> RowFigures:
        """Of the rows that have an answer.

        Raises:
            InvalidDataset: no row has one.
        """
        has_answer = self.is_answer
        if not has_answer.any():
            raise InvalidDataset(f"no row has an answer: {self._reason or 'none was asked'}", field="dataset")
        least = np.exp(LEAST_LOG_PROB)
        of_gold, of_answer = (np.log(one[has_answer].clip(min=least)) for one in (self._of_gold, self._of_answer))
        return RowFigures(self.gold[has_answer], self._answers[has_answer], np.exp(of_answer), -of_gold)

    def confusion(self) -> IndexArray:
        """`[labels, labels]`, rows by label and answer; those without an answer are left out."""
        counts = np.zeros((len(self.classes), len(self.classes)), dtype=np.intp)
        np.add.at(counts, (self.gold[self.is_answer], self._answers[self.is_answer]), 1)
        return counts


def leave_out(
    task: TaskRecord, examples: Sequence[Example], *, may_be_all: bool = False
) -> tuple[tuple[Example, ...], tuple[str, ...]]:
    """The rows without those whose label the selection left out, and a note of these.

    Raises:
        InvalidDataset: no row is left, and not `may_be_all`.
    """
    names = {fold_text(label) for label in task.left_out} - {fold_text(label) for label in task.labels}
    out = Counter(one.label for one in examples if fold_text(one.label) in names)
    if not out:
        return tuple(examples), ()
    which = ", ".join(f"{show_label(label)} ({rows:,})" for label, rows in out.most_common(_MOST_LISTED))
    which += ", …" * (len(out) > _MOST_LISTED)
    why = f"a label that the selection left out as too rare: {which}"
    if out.total() == len(examples) and not may_be_all:
        raise InvalidDataset(f"every row has {why}; give rows with other labels", field="dataset.label")
    note = f"{show_count(out.total(), 'row', 'was')} left out, which {'has' if out.total() == 1 else 'have'} {why}"
    return tuple(one for one in examples if fold_text(one.label) not in names), (note,)


def join_labels(labels: Sequence[str], examples: Sequence[Example]) -> list[Example]:
    """The rows with the classifier's own labels, where theirs differ in case, spaces or Unicode form."""
    label_of = {fold_text(label): label for label in reversed(labels)} | {label: label for label in labels}
    joined = list[Example]()
    for example in examples:
        label = label_of.get(example.label) or label_of.get(fold_text(example.label))
        if label is None:
            raise InvalidDataset(
                f"{example.place} has the label {example.label!r}, which the selection did not have; its labels are "
                f"{', '.join(labels[:10])}{', …' * (len(labels) > 10)}; leave the row out, or select with this label",
                field="dataset.label",
                row=example.row,
            )
        joined.append(example if label == example.label else replace(example, label=label))
    return joined
