"""The ranker: judges all permutations on few rows, the better half on twice as many rows, and so on.

Jamieson & Talwalkar (2016), "Non-stochastic Best Arm Identification". Halving may drop the
best permutation after unlucky first rows. At equal cost it judges three times as many permutations.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lens_engine.metering.meter import Meter
from lens_engine.method.judgement import EvaluationRows, Judgement, judge
from lens_engine.method.objective import RankingObjective, Score, rank_key
from lens_engine.rows.plan import plan_rungs
from lens_engine.types import Example, IndexArray, Permutation


@dataclass(frozen=True, slots=True)
class Finished:
    """The permutation was judged on every row that it does not show."""

    score: Score
    by_use: tuple[Score, ...]


@dataclass(frozen=True, slots=True)
class Dropped:
    """The permutation was dropped before the last row, or it shows every row."""

    num_rows: int  #: rows on which it was judged, or that it shows


Outcome = Finished | Dropped


@dataclass(frozen=True)
class Ranker:
    """Judges permutations of these examples on these rows; each on the rows that it does not show."""

    meter: Meter
    examples: Sequence[Example]
    rows: EvaluationRows
    objectives: Sequence[RankingObjective]  #: for each use
    num_ranking: int = 1  #: how many of them, from the first on, rank permutations, by their mean score

    def judge(self, permutations: Sequence[Permutation], halvings: int = 0, places: int = 1) -> list[Outcome]:
        """The outcome of each permutation; at least `places` of them are judged on every row.

        Without halvings, each permutation is judged on every row.

        Raises:
            Stopped: from the meter.
        """
        prefixes, order = self.rows.task.render_permutations(self.examples, permutations), self.rows.spread_order
        left, seen = list(range(len(permutations))), dict[int, Judgement]()
        for rung in plan_rungs(len(permutations), len(order), halvings, places):
            if seen:
                left = self._best(permutations, left, seen, rung.permutations)
            rows = self.rows.take(order[rung.start : rung.end])
            blocks = judge(self.meter, [prefixes[one] for one in left], rows)
            for one, block in zip(left, blocks, strict=True):
                seen[one] = seen[one].extend(block) if one in seen else block
        return [self._outcome(permutation, seen[one]) for one, permutation in enumerate(permutations)]

    def _hide_shown(self, permutation: Permutation, judgement: Judgement, places: IndexArray) -> Judgement:
        """The judgement without the rows that the permutation shows. `places`: of its rows, in `rows`."""
        shown = {self.examples[index].row for index in permutation}
        return judgement.take(np.flatnonzero([self.rows.examples[one].row not in shown for one in places]))

    def _best(
        self, permutations: Sequence[Permutation], left: list[int], seen: dict[int, Judgement], number: int
    ) -> list[int]:
        """The best of those that are left; all of them were judged on the same rows."""
        order = self.rows.spread_order
        judged = [self._hide_shown(permutations[one], seen[one], order[: len(seen[one].gold)]) for one in left]
        known = [place for place, one in enumerate(judged) if len(one.gold)]
        ranking, kept = self.objectives[: self.num_ranking], [judged[place] for place in known]
        scores = zip(*(one.scores(kept, is_final=False) for one in ranking), strict=True)
        pairs = [(left[place], Score.mean(each)) for place, each in zip(known, scores, strict=True)]
        ranked = [one for one, _ in sorted(pairs, key=lambda pair: rank_key(permutations[pair[0]], pair[1]))]
        unknown = [one for one in left if one not in ranked]  # they show every row so far
        return sorted([*ranked, *unknown][:number])

    def _outcome(self, permutation: Permutation, judgement: Judgement) -> Outcome:
        num_judged = len(judgement.gold)
        if num_judged < len(self.rows):
            return Dropped(num_judged)
        whole = judgement.take(np.argsort(self.rows.spread_order))
        kept = self._hide_shown(permutation, whole, np.arange(len(self.rows)))
        if not len(kept.gold):
            return Dropped(num_judged)
        by_use = tuple(one.scores([kept], is_final=True)[0] for one in self.objectives)
        return Finished(Score.mean(by_use[: self.num_ranking]), by_use)
