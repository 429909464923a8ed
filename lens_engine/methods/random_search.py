"""Random-and-validation: many random permutations, of which the best on the validation rows is kept (section 4.1)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lens_engine.judging.judgement import EvaluationRows
from lens_engine.judging.race import Incumbents
from lens_engine.judging.ranker import Placing, Ranker
from lens_engine.judging.score import rank_key
from lens_engine.metering.meter import Meter
from lens_engine.methods.random_permutations import RandomPermutations
from lens_engine.pricing.prices import Planner
from lens_engine.run.state import RandomTally
from lens_engine.task.template import Task
from lens_engine.types import FloatArray

BATCH = 8
"""Random permutations judged between two checkpoints."""


@dataclass(frozen=True)
class RandomSearch:
    """Judges random permutations of the candidates, a batch at a time."""

    permutations: RandomPermutations
    ranker: Ranker
    margins: FloatArray  #: `[permutations, rows]` of any judged before, which say what rows are hard; may be empty

    @classmethod
    def over(cls, planner: Planner, task: Task, meter: Meter, margins: FloatArray) -> "RandomSearch":
        """On the validation rows of a run, ranked and raced as its search is."""
        rows, config = planner.rows, planner.config
        judged = EvaluationRows(task, rows.validation)
        ranker = Ranker(meter, rows.candidates, judged, config.calibrated_search, config.search.elimination)
        return cls(RandomPermutations(rows, task, config), ranker, margins)

    def run(self, tally: RandomTally, total: int, save: Callable[[RandomTally], None]) -> RandomTally:
        """The tally after `total` permutations; `save` hears of each batch.

        Raises:
            Stopped: from the meter; what was saved holds.
        """
        while tally.drawn < total:
            batch = self.permutations.draw(tally.drawn, min(BATCH, total - tally.drawn))
            tally = _count(tally, self.ranker.place(batch, self._best(tally), places=1))
            save(tally)
        return tally

    def _best(self, tally: RandomTally) -> Incumbents:
        correct = () if tally.standing is None else (tally.standing.correct,)
        return Incumbents(correct, self.margins)


def _count(tally: RandomTally, placings: Sequence[Placing]) -> RandomTally:
    """The tally after more permutations; of equal ones the first drawn is the best."""
    finished = {tally.drawn + place: one.standing for place, one in enumerate(placings) if one.standing}
    if tally.best is not None and tally.standing is not None:
        finished[tally.best] = tally.standing
    best = min(finished, key=lambda number: rank_key((number,), finished[number]))
    return RandomTally(drawn=tally.drawn + len(placings), best=best, standing=finished[best])
