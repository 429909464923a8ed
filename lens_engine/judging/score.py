"""How permutations rank: by accuracy, then by mean margin, then by their rows; never by chance."""

from dataclasses import dataclass

import numpy as np

from lens_engine.judging.judgement import Judgement
from lens_engine.judging.rounding import rounding_nats
from lens_engine.result import Lead
from lens_engine.types import Permutation


@dataclass(frozen=True, slots=True)
class Standing:
    """How a permutation ranks, and how many of its rows rounding could turn over."""

    correct: int
    n: int
    margin: float  #: mean over rows of the gold label's log-probability less the best other one's, nats
    close_hits: int = 0  #: rows that are right by less than the rounding
    close_misses: int = 0  #: rows that are wrong by less than the rounding

    @property
    def accuracy(self) -> float:
        return self.correct / self.n


def stand(judgement: Judgement, dtype: str = "float32") -> Standing:
    """A permutation's standing; by calibrated scores when the judgement has them.

    Args:
        dtype: the precision it was scored in, for how many rows are close.
    """
    margins, hits = judgement.margins, judgement.ranked_hits
    close = np.abs(margins) < rounding_nats(dtype, calibrated=judgement.content_free is not None)
    return Standing(
        correct=int(hits.sum()),
        n=len(judgement.gold),
        margin=float(margins.mean()),
        close_hits=int((close & hits).sum()),
        close_misses=int((close & ~hits).sum()),
    )


def rank_key(permutation: Permutation, standing: Standing) -> tuple[float, float, Permutation]:
    """Sort key, best first: accuracy, margin, then rows."""
    return (-standing.accuracy, -standing.margin, permutation)


def pool(first: Standing, second: Standing) -> Standing:
    """The standing on both sets of rows together."""
    n = first.n + second.n
    return Standing(
        correct=first.correct + second.correct,
        n=n,
        margin=(first.margin * first.n + second.margin * second.n) / n,
        close_hits=first.close_hits + second.close_hits,
        close_misses=first.close_misses + second.close_misses,
    )


def measure_lead(best: Standing, runner_up: Standing, rounding: float) -> Lead:
    """By how many rows the best is ahead, and whether rounding alone could turn the order.

    It could when the close rows reach the lead: those the best has right, and those the runner-up has
    wrong. Where both are right on equally many rows, their mean margins decide, and rounding could
    turn the order also when these are closer than it.
    """
    rows, close = best.correct - runner_up.correct, best.close_hits + runner_up.close_misses
    is_tie = rows == 0 and best.margin - runner_up.margin < rounding
    return Lead(rows=rows, n=best.n, close_rows=close, within_noise=is_tie or (close > 0 and rows <= close))
