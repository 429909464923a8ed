"""The ranker: judges permutations on rows, all of them, in a race or by halving."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from lens_engine.judging.halving import Halving
from lens_engine.judging.judgement import EvaluationRows, Judgement, judge
from lens_engine.judging.objective import AccuracyObjective, RankingObjective
from lens_engine.judging.outcome import Finished, Outcome
from lens_engine.judging.race import Incumbents, Race
from lens_engine.metering.meter import Meter
from lens_engine.scoring.base import Prefix
from lens_engine.types import Example, IndexArray, Permutation

_LEAST_BLOCK = 2
"""Least rows of a block for each demonstration. A scorer may feed the prefix again for each block, and then a
demonstration costs about as much as a query."""


@dataclass(frozen=True)
class Ranker:
    """Judges permutations of these examples on these rows."""

    meter: Meter
    examples: Sequence[Example]
    rows: EvaluationRows
    calibrated: bool
    objective: RankingObjective | None = None  #: None for accuracy

    def judge_all(self, permutations: Sequence[Permutation]) -> list[Outcome]:
        """Judge each permutation on every row.

        Raises:
            Stopped: from the meter.
        """
        judgements = judge(self.meter, self._render(permutations), self.rows, calibrated=self.calibrated)
        scores = self._objective.scores(judgements, is_final=True)
        return [Finished(judgement, score) for judgement, score in zip(judgements, scores, strict=True)]

    def race(self, permutations: Sequence[Permutation], incumbents: Incumbents, places: int) -> list[Outcome]:
        """Race by accuracy for the best `places` places among these permutations and the incumbents.

        Given the same log-probabilities, the best permutations and their scores equal those of judging all on every
        row. In 16-bit formats a score's bits may depend on the pairs scored in the same call. If no permutation can
        be dropped, all are judged at once.

        Raises:
            Stopped: from the meter.
        """
        if not permutations or len(permutations) + len(incumbents.correct) <= places:
            return self.judge_all(permutations)
        prefixes = self._render(permutations)
        least, order = _LEAST_BLOCK * len(permutations[0]), incumbents.order_rows(len(self.rows))
        judge_block = partial(self._judge_block, prefixes)
        return Race(judge_block, order, least, incumbents.correct, places, self._dtype).run(len(prefixes))

    def halve(self, permutations: Sequence[Permutation], halvings: int, places: int) -> list[Outcome]:
        """Judge all on few rows, the better half on twice as many, and so on; at least `places` on every row.

        Raises:
            Stopped: from the meter.
        """
        judge_block = partial(self._judge_block, self._render(permutations))
        return Halving(judge_block, self.rows.spread_order, halvings, places, self._objective).run(permutations)

    def _render(self, permutations: Sequence[Permutation]) -> list[Prefix]:
        return self.rows.task.render_permutations(self.examples, permutations)

    def _judge_block(
        self, prefixes: Sequence[Prefix], numbers: Sequence[int], rows: IndexArray, is_first: bool
    ) -> list[Judgement]:
        asked = [prefixes[number] for number in numbers]
        return judge(self.meter, asked, self.rows.take(rows), calibrated=self.calibrated and is_first)

    @property
    def _objective(self) -> RankingObjective:
        return self.objective or AccuracyObjective(self._dtype)

    @property
    def _dtype(self) -> str:
        return self.meter.scorer.identity.dtype
