"""Successive halving: judge all permutations on few rows, the better half on twice as many rows, and so on.

Jamieson & Talwalkar (2016), "Non-stochastic Best Arm Identification". Unlike a race, halving is not exact: it may drop
the best permutation after unlucky first rows. At equal cost it judges three times as many permutations.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lens_engine.judging.judgement import Judgement
from lens_engine.judging.outcome import Dropped, Finished, Outcome
from lens_engine.judging.race import JudgeBlock
from lens_engine.judging.score import Score, rank_key
from lens_engine.plan.rungs import plan_rungs
from lens_engine.types import IndexArray, Permutation


@dataclass(frozen=True)
class Halving:
    """Judges permutations rung by rung (`plan_rungs`)."""

    judge: JudgeBlock
    order: IndexArray  #: `[rows]`, the order in which the rows are judged
    halvings: int
    places: int  #: least number of permutations that are judged on every row
    dtype: str = "float32"  #: number format of the log-probabilities

    def run(self, permutations: Sequence[Permutation]) -> list[Outcome]:
        """The outcome of each permutation. A dropped permutation is charged for the rows it was judged on."""
        left, seen = list(range(len(permutations))), dict[int, Judgement]()
        for rung in plan_rungs(len(permutations), len(self.order), self.halvings, self.places):
            best_first = sorted(left, key=lambda one: self._rank(permutations[one], seen.get(one)))
            left = sorted(best_first[: rung.permutations])
            blocks = self.judge(left, self.order[rung.start : rung.end], rung.start == 0)
            for one, block in zip(left, blocks, strict=True):
                seen[one] = seen[one].extend(block) if one in seen else block
        return [self._outcome(seen[one]) for one in range(len(permutations))]

    def _rank(self, permutation: Permutation, judgement: Judgement | None) -> tuple[float, float, Permutation]:
        if judgement is None:
            return (0.0, 0.0, permutation)
        return rank_key(permutation, Score.of(judgement, self.dtype))

    def _outcome(self, judgement: Judgement) -> Outcome:
        num_rows, num_judged = len(self.order), len(judgement.gold)
        if num_judged < num_rows:
            return Dropped(int(judgement.ranked_hits.sum()) + num_rows - num_judged, charged_rows=num_judged)
        whole = judgement.take(np.argsort(self.order))
        return Finished(whole, Score.of(whole, self.dtype))
