"""The answers to labelled rows, as far as an evaluation needs them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lens_engine.classifier.quality import RowFigures
from lens_engine.classifier.regression import LEAST_LOG_PROB
from lens_engine.errors import InvalidDataset
from lens_engine.evaluation.batches import NO_ANSWER, Prediction
from lens_engine.prompt.record import TaskRecord
from lens_engine.prompt.text_checks import fold_text
from lens_engine.prompt.wording import show_count, show_label
from lens_engine.types import Example, IndexArray

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
            told = "every row exceeds the context of the model; shorten the texts"
            raise InvalidDataset(told, field="dataset")
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
