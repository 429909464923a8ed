"""Successive halving: permutations judged on few rows, the better half of them on twice as many, and so on.

Jamieson & Talwalkar (2016), "Non-stochastic Best Arm Identification". Unlike a race it is not exact: a permutation that
is unlucky on the first rows is lost. The same cost judges three times as many permutations.
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
    order: IndexArray  #: `[rows]`, in which the rows are judged
    halvings: int
    places: int  #: permutations that are judged on every row, at least
    dtype: str = "float32"  #: number format of the log-probabilities

    def run(self, permutations: Sequence[Permutation]) -> list[Outcome]:
        """How each permutation ended. A dropped one is charged with the rows it was judged on."""
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
