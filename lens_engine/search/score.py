"""Scores rank permutations: by accuracy or macro-F1, then by log-loss or mean margin, then by their indices; never at
random."""

from dataclasses import dataclass

import numpy as np

from lens_engine.classifier.macro_f1 import measure_macro_f1
from lens_engine.config import Objective
from lens_engine.result import Lead
from lens_engine.search.judgement import Judgement
from lens_engine.search.rounding import rounding_nats
from lens_engine.types import Permutation


@dataclass(frozen=True, slots=True)
class Score:
    """What ranks a permutation, and the number of rows that rounding could flip."""

    correct: int
    n: int
    margin: float  #: mean over rows of the gold label's log-probability minus the highest other one (nats)
    close_hits: int = 0  #: right rows with a margin below the rounding
    close_misses: int = 0  #: wrong rows with a margin (in size) below the rounding
    log_loss: float | None = None  #: mean over rows (nats); ranks in place of the margin, if it was measured
    macro_f1: float = 0.0  #: over the labels of the rows
    least_macro_f1: float = 0.0  #: if every close hit were a miss
    most_macro_f1: float = 0.0  #: if every close miss were a hit
    objective: Objective = "accuracy"  #: which of the two figures ranks

    @classmethod
    def of(cls, judgement: Judgement, dtype: str = "float32", objective: Objective = "accuracy") -> "Score":
        """The score of a judgement.

        Args:
            dtype: number format of the log-probabilities; decides which rows are close.
        """
        margins, hits = judgement.margins, judgement.correct
        close, gold, answers = np.abs(margins) < rounding_nats(dtype), judgement.gold, judgement.predictions
        least = np.where(close & hits, judgement.seconds, answers)
        return cls(
            correct=int(hits.sum()),
            n=len(judgement.gold),
            margin=float(margins.mean()),
            close_hits=int((close & hits).sum()),
            close_misses=int((close & ~hits).sum()),
            macro_f1=judgement.macro_f1,
            least_macro_f1=measure_macro_f1(least, gold),
            most_macro_f1=measure_macro_f1(np.where(close, gold, answers), gold),
            objective=objective,
        )

    @property
    def accuracy(self) -> float:
        return self.correct / self.n

    @property
    def value(self) -> float:
        """The figure that ranks."""
        return self.accuracy if self.objective == "accuracy" else self.macro_f1


def rank_key(permutation: Permutation, score: Score) -> tuple[float, float, Permutation]:
    """Sort key, best first: accuracy or macro-F1, log-loss (or else margin), then the permutation's indices."""
    return (-score.value, -score.margin if score.log_loss is None else score.log_loss, permutation)


def measure_lead(best: Score, runner_up: Score, rounding: float) -> Lead:
    """The lead of the best over the runner-up (rows), and whether rounding alone could reverse their order.

    Rounding could reverse the order if the close rows (the best's close hits and the runner-up's close misses) are
    at least as many as the lead. If both are right on equally many rows, their mean margins decide; then rounding
    could also reverse the order if these margins differ by less than `rounding` (nats). Where macro-F1 ranks, it could
    if the runner-up with its close misses right is not behind the best with its close hits wrong.
    """
    rows, close = best.correct - runner_up.correct, best.close_hits + runner_up.close_misses
    is_tie = best.value == runner_up.value and best.margin - runner_up.margin < rounding
    if best.objective == "accuracy":
        ahead, could_flip = None, rows <= close
    else:
        ahead, could_flip = best.macro_f1 - runner_up.macro_f1, best.least_macro_f1 <= runner_up.most_macro_f1
    within_noise = is_tie or (close > 0 and could_flip)
    return Lead(rows=rows, n=best.n, close_rows=close, within_noise=within_noise, macro_f1=ahead)
