"""What the answers row by row show: which labels are confused, and whether probabilities can be trusted."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import ne
from typing import NamedTuple

from lens_engine.classifier.quality import Quality
from lens_engine.prompt.wording import show_count, show_share
from lens_engine.result import Answers, SelectionResult
from lens_engine.show.table import NOTHING, Matrix, Table
from lens_engine.show.tables import CUT, MOST_LABELS, TEXTLESS, show_text
from lens_engine.show.words import USES, name_choice

_MOST_WRONG = 80
"""Largest number of wrong answers that are listed: with their texts, three such lists have some 100 kB."""

_MOST_PAIRS = 50
"""Largest number of pairs of labels that are listed."""

_WEAK, _LEAST_SHARE, _LEAST, _LEAST_ROWS = 1.5, 0.1, 3, 10
"""A label is weak if that many times more of its rows are wrong than of all; least share of wrong rows, and number; and
least number of its rows: of fewer more than half must be wrong."""

_LEAST_GAP = 0.03
"""Least difference of the mean probability and the accuracy that has a side."""

_MOST_WEAK = 2
"""Largest number of labels that are called weak."""


class Answer(NamedTuple):
    """The answer to a row."""

    row: int
    gold: int  #: place of its label
    answer: int  #: place of the answer
    probability: float | None  #: of the answer


class LabelShare(NamedTuple):
    """How many rows of a label are right."""

    label: str
    right: int
    rows: int


@dataclass(frozen=True)
class Answered:
    """The answers of the classifier, or of the support examples for a use, on each row that has one."""

    name: str  #: `classifier`, or the use
    title: str
    labels: tuple[str, ...]
    rows: tuple[int, ...]
    gold: tuple[int, ...]
    answers: tuple[int, ...]
    probabilities: tuple[float, ...] | None
    quality: Quality | None
    is_test: bool = True  #: whether the rows are test rows

    @property
    def has_matrix(self) -> bool:
        """Whether the labels are few enough for a matrix to show."""
        return len(self.labels) <= MOST_LABELS

    @property
    def matrix(self) -> Matrix:
        counts, places = Counter(zip(self.gold, self.answers, strict=True)), range(len(self.labels))
        lines = tuple(tuple(counts[gold, answer] for answer in places) for gold in places)
        return Matrix(self.name, f"Answers of the {self.title}", self.labels, lines)

    @property
    def wrong(self) -> list[Answer]:
        """The surest of the wrong answers, at most 80, by label and answer; within these the surest first."""
        every = [one for one in self._every if one.gold != one.answer]
        return sorted(sorted(every, key=_doubt)[:_MOST_WRONG], key=_order)

    def list_weak(self) -> list[LabelShare]:
        """The labels of which far fewer rows are right than of all, the worst first, at most two."""
        rows, right = Counter(self.gold), Counter(one.gold for one in self._every if one.gold == one.answer)
        wrong = 1 - right.total() / len(self.rows)
        known = [(gold, number) for gold, number in rows.items() if number >= _LEAST_ROWS or 2 * right[gold] < number]
        missed = [(1 - right[gold] / number, gold) for gold, number in known if number - right[gold] >= _LEAST]
        weak = sorted((one for one in missed if one[0] >= max(_WEAK * wrong, _LEAST_SHARE)), reverse=True)
        return [LabelShare(self.labels[gold], right[gold], rows[gold]) for _, gold in weak[:_MOST_WEAK]]

    def tabulate_confused(self) -> Table:
        """The pairs of a label and another answer, the most frequent first, where a matrix is too large."""
        pairs = Counter((one.gold, one.answer) for one in self._every if one.gold != one.answer)
        left_out = f"; the {_MOST_PAIRS} most frequent" * (len(pairs) > _MOST_PAIRS)
        return Table(
            title=f"Most frequent mix-ups of the {self.title}: {show_count(len(pairs), 'pair')}",
            header=("label", "answer", "texts"),
            rows=tuple(
                (self.labels[gold], self.labels[answer], f"{number:,}")
                for (gold, answer), number in pairs.most_common(_MOST_PAIRS)
            ),
            words=("label", "answer"),
            caption=f"{len(self.labels)} labels are too many for a matrix{left_out}",
        )

    def tabulate_wrong(self, texts: Mapping[int, str]) -> Table:
        """The wrong answers, with the texts if they are known."""
        found, number = self.wrong, sum(map(ne, self.gold, self.answers))
        left_out = [f"{len(found)} of them are listed"] if len(found) < number else []
        return Table(
            title=f"Texts that the {self.title} got wrong: {number} of {len(self.rows)}",
            header=(
                "test row" if self.is_test else "row",
                *(["text"] if texts else []),
                "label",
                "answer",
                "certainty",
            ),
            rows=tuple(
                (
                    str(one.row + 1),
                    *([show_text(texts, one.row)] if texts else []),
                    self.labels[one.gold],
                    self.labels[one.answer],
                    NOTHING if one.probability is None else show_share(one.probability, 100),
                )
                for one in found
            ),
            words=("label", "answer", "text"),
            caption="; ".join([*left_out, CUT if texts else TEXTLESS]),
        )

    @cached_property
    def _every(self) -> list[Answer]:
        every = map(Answer, self.rows, self.gold, self.answers, self.probabilities or (None,) * len(self.rows))
        return sorted(every, key=_order)

    @property
    def calibration(self) -> str:
        """How far its percentages are off, and to which side; nothing where that was not measured."""
        if self.quality is None:
            return ""
        gap = sum(self.probabilities or ()) / len(self.rows) - self.quality.accuracy
        side = "" if abs(gap) < _LEAST_GAP else f", on the whole too {'high' if gap > 0 else 'low'}"
        return f"its percentages are off by {100 * self.quality.ece:.0f} points on average{side}"


def _doubt(one: Answer) -> float:
    return -(one.probability or 0)


def _order(one: Answer) -> tuple[int, int, float, int]:
    return one.gold, one.answer, _doubt(one), one.row


def list_answered(result: SelectionResult) -> list[Answered]:
    """The classifier first, then each use that was asked; without the rows that a prompt shows."""
    answers, chosen = result.answers, result.chosen
    quality = None if chosen is None else chosen.test if answers.is_test else chosen.cross_validated
    found = [("classifier", "classifier", answers.classifier, answers.classifier_probabilities, quality)]
    for one, answered, shares in zip(
        result.support_examples, answers.support_examples, answers.support_examples_probabilities, strict=True
    ):
        figure = one.test if answers.is_test else one.judged
        found.append((one.use, f"{name_choice(one)}, {USES[one.use]}", answered, shares, figure))
    return [
        Answered(name, title, result.task.labels, *_leave_out_empty(answers, answered, shares), own, answers.is_test)
        for name, title, answered, shares, own in found
        if answered is not None and any(one is not None for one in answered)
    ]


def _leave_out_empty(
    answers: Answers, answered: Sequence[int | None], shares: Sequence[float | None] | None
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[float, ...] | None]:
    """Rows, labels, answers and probabilities of the rows that have an answer."""
    kept = [place for place, one in enumerate(answered) if one is not None]
    rows, gold = (tuple(column[place] for place in kept) for column in (answers.rows, answers.gold))
    own = tuple(one for one in answered if one is not None)
    return rows, gold, own, None if shares is None else tuple(shares[place] or 0.0 for place in kept)
