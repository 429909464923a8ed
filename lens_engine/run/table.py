"""The table of answers: a line for each contender, a column for each judging row, and then for each search row.

A prompt has a line for each use: as the model answers, and with label biases, which come from the other folds. A
classifier is judged by folds too, and by search rows. A prompt is not judged by a row that it shows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from lens_engine.classifier.candidates import Candidate
from lens_engine.classifier.quality import smooth_rows, value_rows
from lens_engine.classifier.regression import cut_folds, normalise
from lens_engine.config import Use
from lens_engine.method.judgement import EvaluationRows, Judgement
from lens_engine.method.objective import find_label_biases
from lens_engine.method.setup import Setup
from lens_engine.model.limits import keep_unanswered, pick_answers
from lens_engine.rows.dealing import index_rows
from lens_engine.run.choose import Scores
from lens_engine.run.propose import Proposal
from lens_engine.types import FloatArray, IndexArray, LabelLogProbs

NO_ANSWER = -1
"""In a table of answers: the contender shows the row, or was not asked for it."""

_HELD_PRICE = 0.1
"""Price of a token that is the same for every input, in those of a token that is not: what vendors charge for one in
their cache, and about what attention to it takes."""


@dataclass(frozen=True, eq=False)
class Line:
    """What one contender says of the columns."""

    name: str
    prompt: int | None  #: place among the proposals; None for a classifier
    candidate: int | None  #: place among the candidates for the classifier; None for a prompt
    use: Use | None  #: how a prompt is read; None for a classifier
    places: IndexArray  #: `[known]`, the columns of which it says something, ascending
    log_probs: FloatArray  #: `[known, labels]`, normalised
    num_asked: int  #: number of columns for which it was asked: judging rows, or all
    tokens: float  #: of an answer, that differ from input to input
    tokens_held: float  #: that are the same for every input

    @property
    def price(self) -> float:
        """The power of two that the tokens of an answer reach: a contender is cheaper if it takes half."""
        return float(np.floor(np.log2(1.0 + self.tokens + _HELD_PRICE * self.tokens_held)))


@dataclass(frozen=True, eq=False)
class Table:
    """The lines of all contenders, and the gold labels."""

    setup: Setup
    lines: tuple[Line, ...]
    left: frozenset[int]  #: places of the prompts that are not dropped
    num_whole: int  #: judging rows for which each of them was asked

    @classmethod
    def of(
        cls,
        setup: Setup,
        proposals: Sequence[Proposal],
        cells: Mapping[int, LabelLogProbs],
        candidates: Sequence[Candidate] = (),
        left: Sequence[int] = (),
    ) -> Self:
        """The table of what was judged by now. `left`: the prompts that are not dropped; none for all."""
        rows = EvaluationRows(setup.task, setup.rows.judging)
        lines = list[Line]()
        for place, found in sorted(cells.items()):
            lines += _read_prompt(setup, rows.gold, place, proposals[place], found)
        places = index_rows(setup.rows.columns)
        lines += [_read_candidate(place, one, places) for place, one in enumerate(candidates)]
        asked = {place: len(cells[place]) for place in left or cells if place in cells}
        return cls(setup, tuple(lines), frozenset(asked), min(asked.values(), default=0))

    @cached_property
    def gold(self) -> IndexArray:
        """`[rows]`, index of the label of each column."""
        return self.setup.task.index_labels(self.setup.rows.columns)

    def answers(self, line: Line) -> IndexArray:
        """`[rows]`, the answer of a contender in each column; `NO_ANSWER` where there is none."""
        found = np.full(len(self.gold), NO_ANSWER, dtype=np.intp)
        found[line.places] = pick_answers(line.log_probs, self.gold[line.places])
        return found

    def score(self, lines: Sequence[Line], number: int | None = None, *, by_accuracy: bool = False) -> Scores:
        """The scores of some lines by accuracy or by the objective, on the first `number` columns; None for those that
        one of the lines was asked for."""
        number = number or max((line.num_asked for line in lines), default=len(self.gold))
        values, smoothed = np.full((2, len(lines), len(self.gold)), np.nan)
        objective = "accuracy" if by_accuracy else self.setup.config.objective
        for place, line in enumerate(lines):
            gold = self.gold[line.places]
            if len(gold):
                values[place, line.places] = value_rows(pick_answers(line.log_probs, gold), gold, objective)
                smoothed[place, line.places] = smooth_rows(line.log_probs, gold, objective)
        prices = np.array([line.price for line in lines])
        kinds = np.array([-1 if line.candidate is None else line.candidate for line in lines], dtype=np.intp)
        return Scores(values[:, :number], smoothed[:, :number], prices, kinds)


def _read_prompt(setup: Setup, gold: IndexArray, place: int, proposal: Proposal, found: LabelLogProbs) -> list[Line]:
    shown = {one.row for one in proposal.rows}
    places = np.array([at for at in range(len(found)) if setup.rows.judging[at].row not in shown], dtype=np.intp)
    judged, lengths = Judgement(found[places], gold[places]), setup.prices.lengths
    held = lengths.opening + len(proposal.rows) * lengths.demonstration
    tokens = lengths.query + proposal.form.nearest * lengths.demonstration

    def make(use: Use, log_probs: FloatArray) -> Line:
        return Line(proposal.name, place, None, use, places, log_probs, len(found), tokens, held)

    plain = np.asarray(judged.label_log_probs, dtype=np.float64)
    read: dict[Use, FloatArray] = {"prompt": keep_unanswered(normalise(plain), plain)}
    if setup.has_probabilities and len(places):
        read["probabilities"] = keep_unanswered(normalise(plain + _hold_out_biases(judged)), plain)
    return [make(use, read[use]) for use in setup.uses if use in read]


def _hold_out_biases(judged: Judgement) -> FloatArray:
    """`[rows, labels]`, the label biases of each row, from the rows outside its fold."""
    biases = np.zeros(judged.label_log_probs.shape)
    for held_out, rest in cut_folds(judged.gold):
        if len(rest):
            biases[held_out] = find_label_biases(judged.take(rest))
    return biases


def _read_candidate(place: int, one: Candidate, places: Mapping[int, int]) -> Line:
    return Line(
        name=one.title,
        prompt=None,
        candidate=place,
        use=None,
        places=np.array([places[row] for row in one.rows], dtype=np.intp),
        log_probs=one.log_probs.array.astype(np.float64),
        num_asked=len(places),
        tokens=one.classifier.tokens_per_input,
        tokens_held=float(one.classifier.tokens_held),
    )
