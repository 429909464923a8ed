"""Ranking permutations on rows: judged on every row, or in a race that ends early for those that cannot win."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from lens_engine.evaluation import EvaluationRows, Judgement, judge
from lens_engine.metering import Meter
from lens_engine.permutations import render_permutations
from lens_engine.racing import Incumbents, Race
from lens_engine.scoring.base import Prefix
from lens_engine.standing import Standing, stand
from lens_engine.types import Example, FloatArray, IndexArray, Permutation

_LEAST_BLOCK = 2
"""Rows of a block for each demonstration, at least. Not every scorer holds a prefix between blocks, and where it is
fed again a demonstration costs about as much as a query."""


@dataclass(frozen=True)
class Placing:
    """Where a permutation ended."""

    standing: Standing | None  #: None: dropped, as it could not take a place
    margins: FloatArray  #: `[rows]`, nats; empty when dropped
    most_correct: int  #: rows it is right on, or could have been at most


@dataclass(frozen=True)
class Ranker:
    """Judges permutations of these examples on these rows."""

    meter: Meter
    examples: Sequence[Example]
    rows: EvaluationRows
    calibrated: bool
    elimination: bool

    def place(self, permutations: Sequence[Permutation], incumbents: Incumbents, places: int) -> list[Placing]:
        """Judge permutations, at least those that are among the best `places` of them and the incumbents.

        With elimination, the best and their standings are the same as without, given the same scores: in 16-bit
        formats the bits of a score may depend on what is scored beside it. Where nobody can be dropped, all are
        judged at once.

        Raises:
            Stopped: from the meter.
        """
        prefixes = render_permutations(self.rows.task, self.examples, permutations)
        can_drop = len(permutations) + len(incumbents.correct) > places
        if not (self.elimination and can_drop and permutations):
            judgements = judge(self.meter, prefixes, self.rows, calibrated=self.calibrated)
            return [self._placing(judgement) for judgement in judgements]
        least = _LEAST_BLOCK * len(permutations[0])
        order = incumbents.order_rows(len(self.rows))
        race = Race(partial(self._judge_block, prefixes), order, least, incumbents.correct, places)
        return [self._placing(outcome) for outcome in race.run(len(prefixes))]

    def _judge_block(
        self, prefixes: Sequence[Prefix], numbers: Sequence[int], rows: IndexArray, is_first: bool
    ) -> list[Judgement]:
        asked = [prefixes[number] for number in numbers]
        return judge(self.meter, asked, self.rows.take(rows), calibrated=self.calibrated and is_first)

    def _placing(self, outcome: Judgement | int) -> Placing:
        if isinstance(outcome, int):
            return Placing(None, np.empty(0), outcome)
        standing = stand(outcome, self.meter.scorer.identity.dtype)
        return Placing(standing, outcome.margins, standing.correct)
