"""Judgements: the label log-probabilities of rows, after one prefix or each after its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lens_engine.metering.meter import Meter
from lens_engine.model.base import Prefix
from lens_engine.model.limits import check_floors, check_true_floors, has_floors, pick_answers
from lens_engine.prompt.template import Task
from lens_engine.rows.plan import spread_evenly
from lens_engine.types import Example, IndexArray, LabelLogProbs


@dataclass(frozen=True)
class EvaluationRows:
    """The rows on which permutations are judged."""

    task: Task
    examples: tuple[Example, ...]

    @cached_property
    def queries(self) -> list[str]:
        return [self.task.render_query(example.text) for example in self.examples]

    @cached_property
    def texts(self) -> list[str]:
        return [example.text for example in self.examples]

    @cached_property
    def gold(self) -> IndexArray:
        """`[rows]`, index of each row's label."""
        return self.task.index_labels(self.examples)

    @cached_property
    def spread_order(self) -> IndexArray:
        """`[rows]`, an order of the rows in which every beginning has the labels in proportion."""
        return np.asarray(np.lexsort((np.arange(len(self)), spread_evenly(self.gold))))

    def __len__(self) -> int:
        return len(self.examples)

    def take(self, places: IndexArray) -> "EvaluationRows":
        """The rows at these places, in their order."""
        return EvaluationRows(self.task, tuple(self.examples[place] for place in places))


@dataclass(frozen=True)
class Judgement:
    """Label log-probabilities of the rows `[rows, labels]` after one prefix, or each after its own, and gold labels."""

    label_log_probs: LabelLogProbs
    gold: IndexArray

    @property
    def predictions(self) -> IndexArray:
        return pick_answers(self.label_log_probs, self.gold)

    def extend(self, more: "Judgement") -> "Judgement":
        """The judgement on these rows and then those of `more` (same prefix)."""
        log_probs = np.concatenate([self.label_log_probs, more.label_log_probs])
        return Judgement(log_probs, np.concatenate([self.gold, more.gold]))

    def take(self, places: IndexArray) -> "Judgement":
        """The rows at these places, in their order."""
        return Judgement(self.label_log_probs[places], self.gold[places])


def judge(meter: Meter, prefixes: Sequence[Prefix], rows: EvaluationRows) -> list[Judgement]:
    """Score the rows after each prefix.

    Raises:
        EndpointError: a chat lists too few of the labels; see `check_floors` and `check_true_floors`.
    """
    scores = meter.score(prefixes, rows.queries)
    _check_all_floors(scores, meter, rows)
    return [Judgement(one, rows.gold) for one in scores]


def judge_pairs(meter: Meter, prefixes: Sequence[Prefix], rows: EvaluationRows) -> Judgement:
    """Score each row after its own prefix; the prefixes are in the order of the rows."""
    scores = meter.score_pairs(prefixes, rows.queries)
    _check_all_floors(scores, meter, rows)
    return Judgement(scores, rows.gold)


def _check_all_floors(scores: LabelLogProbs, meter: Meter, rows: EvaluationRows) -> None:
    if has_floors(rows.task):
        check_floors(scores, meter.scorer.identity.model)
        check_true_floors(scores, rows.gold, meter.scorer.identity.model)
