"""What the answers on the test rows show: which labels are confused, and whether probabilities can be trusted."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lens_engine.classifier.quality import Quality, place_in_bins
from lens_engine.report.charts import Bin
from lens_engine.report.section import Cell, Matrix
from lens_engine.views.table import NOTHING, Table

if TYPE_CHECKING:
    from lens_engine.result.selection_result import SelectionResult  # shows itself by this

_MOST_ROWS = 200
"""Largest number of wrong answers that are listed."""

_USES = {"prompt": "support examples, likeliest label word", "probabilities": "support examples with label biases"}


@dataclass(frozen=True)
class Answered:
    """The answers of the classifier, or of the support examples for a use, on each test row."""

    name: str  #: `classifier`, or the use
    title: str
    labels: tuple[str, ...]
    rows: tuple[int, ...]
    gold: tuple[int, ...]
    answers: tuple[int, ...]
    probabilities: tuple[float, ...] | None
    quality: Quality | None

    @property
    def matrix(self) -> Matrix:
        counts, places = Counter(zip(self.gold, self.answers, strict=True)), range(len(self.labels))
        cells = tuple(tuple(Cell(gold, answer, counts[gold, answer]) for answer in places) for gold in places)
        return Matrix(self.name, f"Answers of the {self.title}", self.labels, cells)

    def find_rows(self, gold: int, answer: int) -> list[int]:
        """Numbers of the test rows with this label and this answer."""
        every = zip(self.gold, self.answers, self.rows, strict=True)
        return [row for *pair, row in every if pair == [gold, answer]]

    def tabulate_wrong(self, texts: Mapping[int, str]) -> Table:
        """The rows that were answered wrongly, by label and answer; within these the surest first."""
        shares = self.probabilities or (None,) * len(self.rows)
        every = zip(self.gold, self.answers, shares, self.rows, strict=True)
        wrong = sorted((one for one in every if one[0] != one[1]), key=lambda one: (*one[:2], -(one[2] or 0), one[3]))
        shown, names = wrong[:_MOST_ROWS], self.labels
        return Table(
            title=f"Rows that the {self.title} got wrong: {len(wrong)} of {len(self.rows)}",
            header=("test row", "label", "answer", "probability", *(["text"] if texts else [])),
            rows=tuple(
                (
                    str(row),
                    names[gold],
                    names[answer],
                    NOTHING if share is None else f"{share:.4f}",
                    *([texts.get(row, NOTHING)] if texts else []),
                )
                for gold, answer, share, row in shown
            ),
            words=("label", "answer", "text"),
            caption=f"the first {len(shown)}" * (len(shown) < len(wrong)),
        )

    def list_bins(self) -> list[Bin]:
        """Answers of about the same probability, in ten bins of equal width; nothing without probabilities."""
        if self.probabilities is None:
            return []
        shares, hits = np.array(self.probabilities), np.equal(self.gold, self.answers)
        bins = place_in_bins(shares)
        groups = [bins == place for place in np.unique(bins)]
        return [Bin(float(shares[own].mean()), float(hits[own].mean()), int(own.sum())) for own in groups]

    def tabulate_bins(self, bins: Sequence[Bin]) -> Table:
        ece = "" if self.quality is None else f": expected calibration error {self.quality.ece:.3f}"
        return Table(
            title=f"Probabilities of the {self.title}{ece}",
            header=("mean probability", "accuracy", "rows"),
            rows=tuple((f"{one.probability:.3f}", f"{one.accuracy:.3f}", f"{one.count:,}") for one in bins),
        )


def list_answered(result: "SelectionResult") -> list[Answered]:
    """The classifier first, then each use that was tested; nothing in a result of an earlier release."""
    answers, task = result.test_answers, result.task
    if answers is None or task is None:
        return []
    known = answers.support_examples_probabilities or (None,) * len(answers.support_examples)
    quality = None if result.classifier is None else result.classifier.test
    found = [("classifier", "classifier", answers.classifier, answers.classifier_probabilities, quality)]
    for one, answered, shares in zip(result.support_examples, answers.support_examples, known, strict=True):
        found.append((one.use, _USES[one.use], answered, shares, one.test))
    return [
        Answered(name, title, task.labels, answers.rows, answers.gold, answered, shares, quality)
        for name, title, answered, shares, quality in found
        if answered is not None and len(answered) > 0
    ]
