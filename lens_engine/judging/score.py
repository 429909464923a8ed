"""Scores rank permutations: by accuracy, then by log-loss or mean margin, then by their indices; never at random."""

from dataclasses import dataclass

import numpy as np

from lens_engine.judging.judgement import Judgement
from lens_engine.judging.rounding import rounding_nats
from lens_engine.result import Lead
from lens_engine.types import Permutation


@dataclass(frozen=True, slots=True)
class Score:
    """The accuracy and margin that rank a permutation, and the number of rows that rounding could flip."""

    correct: int
    n: int
    margin: float  #: mean over rows of the gold label's log-probability minus the highest other one (nats)
    close_hits: int = 0  #: right rows with a margin below the rounding
    close_misses: int = 0  #: wrong rows with a margin (in size) below the rounding
    log_loss: float | None = None  #: mean over rows (nats); ranks in place of the margin, if it was measured

    @classmethod
    def of(cls, judgement: Judgement, dtype: str = "float32") -> "Score":
        """The score of a judgement.

        Args:
            dtype: number format of the log-probabilities; decides which rows are close.
        """
        margins, hits = judgement.margins, judgement.correct
        close = np.abs(margins) < rounding_nats(dtype)
        return cls(
            correct=int(hits.sum()),
            n=len(judgement.gold),
            margin=float(margins.mean()),
            close_hits=int((close & hits).sum()),
            close_misses=int((close & ~hits).sum()),
        )

    @property
    def accuracy(self) -> float:
        return self.correct / self.n


def rank_key(permutation: Permutation, score: Score) -> tuple[float, float, Permutation]:
    """Sort key, best first: accuracy, log-loss (or else margin), then the permutation's indices."""
    return (-score.accuracy, -score.margin if score.log_loss is None else score.log_loss, permutation)


def measure_lead(best: Score, runner_up: Score, rounding: float) -> Lead:
    """The lead of the best over the runner-up (rows), and whether rounding alone could reverse their order.

    Rounding could reverse the order if the close rows (the best's close hits and the runner-up's close misses) are
    at least as many as the lead. If both are right on equally many rows, their mean margins decide; then rounding
    could also reverse the order if these margins differ by less than `rounding` (nats).
    """
    rows, close = best.correct - runner_up.correct, best.close_hits + runner_up.close_misses
    is_tie = rows == 0 and best.margin - runner_up.margin < rounding
    return Lead(rows=rows, n=best.n, close_rows=close, within_noise=is_tie or (close > 0 and rows <= close))
