"""The ranker: judges permutations on rows, all of them or by halving."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from lens_engine.judging.halving import Halving
from lens_engine.judging.judgement import EvaluationRows, Judgement, judge
from lens_engine.judging.objective import AccuracyObjective, RankingObjective
from lens_engine.judging.outcome import Outcome
from lens_engine.metering.meter import Meter
from lens_engine.scoring.base import Prefix
from lens_engine.types import Example, IndexArray, Permutation


@dataclass(frozen=True)
class Ranker:
    """Judges permutations of these examples on these rows."""

    meter: Meter
    examples: Sequence[Example]
    rows: EvaluationRows
    objective: RankingObjective | None = None  #: None for accuracy

    def judge(self, permutations: Sequence[Permutation], halvings: int = 0, places: int = 1) -> list[Outcome]:
        """Judge all on few rows, the better half on twice as many, and so on; at least `places` on every row.

        Without halvings, each permutation is judged on every row.

        Raises:
            Stopped: from the meter.
        """
        judge_block = partial(self._judge_block, self._render(permutations))
        return Halving(judge_block, self.rows.spread_order, halvings, places, self._objective).run(permutations)

    def _render(self, permutations: Sequence[Permutation]) -> list[Prefix]:
        return self.rows.task.render_permutations(self.examples, permutations)

    def _judge_block(self, prefixes: Sequence[Prefix], numbers: Sequence[int], rows: IndexArray) -> list[Judgement]:
        return judge(self.meter, [prefixes[number] for number in numbers], self.rows.take(rows))

    @property
    def _objective(self) -> RankingObjective:
        return self.objective or AccuracyObjective(self.meter.scorer.identity.dtype)
