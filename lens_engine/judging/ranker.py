"""Ranking permutations on rows: judged on every row, or in a race that ends early for those that cannot win."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from lens_engine.judging.judgement import EvaluationRows, Judgement, judge
from lens_engine.judging.race import Incumbents, Race
from lens_engine.judging.score import Standing, rank_key, stand
from lens_engine.metering.meter import Meter
from lens_engine.methods.permutations import render_permutations
from lens_engine.plan.rungs import plan_rungs
from lens_engine.scoring.base import Prefix
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
    charged_rows: int  #: what it counts for in a budget: in a race every row, also when dropped; else those judged


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

    def halve(self, permutations: Sequence[Permutation], halvings: int, places: int) -> list[Placing]:
        """Judge permutations on few rows, the better half on twice as many, and so on; at least `places` on every row.

        Raises:
            Stopped: from the meter.
        """
        prefixes = render_permutations(self.rows.task, self.examples, permutations)
        order = self.rows.spread_order
        left, seen = list(range(len(permutations))), dict[int, Judgement]()
        for rung in plan_rungs(len(permutations), len(self.rows), halvings, places):
            best_first = sorted(left, key=lambda one: self._rank(permutations[one], seen.get(one)))
            left = sorted(best_first[: rung.permutations])
            blocks = self._judge_block(prefixes, left, order[rung.start : rung.end], rung.start == 0)
            for one, block in zip(left, blocks, strict=True):
                seen[one] = seen[one].extend(block) if one in seen else block
        return [self._place_halved(seen[one], order) for one in range(len(permutations))]

    def _rank(self, permutation: Permutation, judgement: Judgement | None) -> tuple[float, float, Permutation]:
        if judgement is None:
            return (0.0, 0.0, permutation)
        return rank_key(permutation, stand(judgement, self.meter.scorer.identity.dtype))

    def _place_halved(self, judgement: Judgement, order: IndexArray) -> Placing:
        num_rows, judged = len(self.rows), len(judgement.gold)
        if judged == num_rows:
            return self._placing(judgement.take(np.argsort(order)))
        return Placing(None, np.empty(0), int(judgement.ranked_hits.sum()) + num_rows - judged, judged)

    def _judge_block(
        self, prefixes: Sequence[Prefix], numbers: Sequence[int], rows: IndexArray, is_first: bool
    ) -> list[Judgement]:
        asked = [prefixes[number] for number in numbers]
        return judge(self.meter, asked, self.rows.take(rows), calibrated=self.calibrated and is_first)

    def _placing(self, outcome: Judgement | int) -> Placing:
        if isinstance(outcome, int):
            return Placing(None, np.empty(0), outcome, len(self.rows))
        standing = stand(outcome, self.meter.scorer.identity.dtype)
        return Placing(standing, outcome.margins, standing.correct, len(self.rows))
