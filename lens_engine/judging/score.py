"""Scores: how permutations rank. By accuracy, then by mean margin, then by their rows; never by chance."""

from dataclasses import dataclass

import numpy as np

from lens_engine.judging.judgement import Judgement
from lens_engine.judging.rounding import rounding_nats
from lens_engine.result import Lead
from lens_engine.types import Permutation


@dataclass(frozen=True, slots=True)
class Score:
    """What a permutation ranks by, and how many of its rows rounding could turn over."""

    correct: int
    n: int
    margin: float  #: mean over rows of the gold label's log-probability less the best other one's, nats
    close_hits: int = 0  #: rows that are right by less than the rounding
    close_misses: int = 0  #: rows that are wrong by less than the rounding

    @classmethod
    def of(cls, judgement: Judgement, dtype: str = "float32") -> "Score":
        """The score of a judgement; by calibrated log-probabilities when the judgement has them.

        Args:
            dtype: the number format of the log-probabilities; it decides which rows are close.
        """
        margins, hits = judgement.margins, judgement.ranked_hits
        close = np.abs(margins) < rounding_nats(dtype, calibrated=judgement.content_free is not None)
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
    """Sort key, best first: accuracy, margin, then rows."""
    return (-score.accuracy, -score.margin, permutation)


def pool(first: Score, second: Score) -> Score:
    """The score on both sets of rows together."""
    n = first.n + second.n
    return Score(
        correct=first.correct + second.correct,
        n=n,
        margin=(first.margin * first.n + second.margin * second.n) / n,
        close_hits=first.close_hits + second.close_hits,
        close_misses=first.close_misses + second.close_misses,
    )


def measure_lead(best: Score, runner_up: Score, rounding: float) -> Lead:
    """By how many rows the best is ahead, and whether rounding alone could turn the order.

    It could when the close rows reach the lead: those the best has right, and those the runner-up has
    wrong. Where both are right on equally many rows, their mean margins decide, and rounding could
    turn the order also when these are closer than it.
    """
    rows, close = best.correct - runner_up.correct, best.close_hits + runner_up.close_misses
    is_tie = rows == 0 and best.margin - runner_up.margin < rounding
    return Lead(rows=rows, n=best.n, close_rows=close, within_noise=is_tie or (close > 0 and rows <= close))
