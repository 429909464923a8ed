"""Successive halving: judge all permutations on few rows, the better half on twice as many rows, and so on.

Jamieson & Talwalkar (2016), "Non-stochastic Best Arm Identification". Halving may drop the
best permutation after unlucky first rows. At equal cost it judges three times as many permutations.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from lens_engine.judging.judgement import Judgement
from lens_engine.judging.objective import AccuracyObjective, RankingObjective
from lens_engine.judging.outcome import Dropped, Finished, Outcome
from lens_engine.judging.score import rank_key
from lens_engine.plan.rungs import plan_rungs
from lens_engine.types import IndexArray, Permutation

JudgeBlock = Callable[[Sequence[int], IndexArray], list[Judgement]]
"""Judges permutations (by number) on rows."""


@dataclass(frozen=True)
class Halving:
    """Judges permutations rung by rung (`plan_rungs`)."""

    judge: JudgeBlock
    order: IndexArray  #: `[rows]`, the order in which the rows are judged
    halvings: int
    places: int  #: least number of permutations that are judged on every row
    objective: RankingObjective = field(default_factory=AccuracyObjective)

    def run(self, permutations: Sequence[Permutation]) -> list[Outcome]:
        """The outcome of each permutation. A dropped permutation is charged for the rows it was judged on."""
        left, seen = list(range(len(permutations))), dict[int, Judgement]()
        for rung in plan_rungs(len(permutations), len(self.order), self.halvings, self.places):
            if seen:
                left = self._best(permutations, left, seen, rung.permutations)
            blocks = self.judge(left, self.order[rung.start : rung.end])
            for one, block in zip(left, blocks, strict=True):
                seen[one] = seen[one].extend(block) if one in seen else block
        return [self._outcome(seen[one]) for one in range(len(permutations))]

    def _best(
        self, permutations: Sequence[Permutation], left: list[int], seen: dict[int, Judgement], number: int
    ) -> list[int]:
        """The best of those that are left; all of them were judged on the same rows."""
        scores = self.objective.scores([seen[one] for one in left], is_final=False)
        ranked = sorted(zip(left, scores, strict=True), key=lambda pair: rank_key(permutations[pair[0]], pair[1]))
        return sorted(one for one, _ in ranked[:number])

    def _outcome(self, judgement: Judgement) -> Outcome:
        num_rows, num_judged = len(self.order), len(judgement.gold)
        if num_judged < num_rows:
            return Dropped(charged_rows=num_judged)
        whole = judgement.take(np.argsort(self.order))
        return Finished(whole, self.objective.scores([whole], is_final=True)[0])
