"""Scores rank permutations: by accuracy or macro-F1, then by log-loss or mean margin, then by their indices; never at
random."""

from dataclasses import dataclass

from lens_engine.config import Objective
from lens_engine.search.judgement import Judgement
from lens_engine.types import Permutation


@dataclass(frozen=True, slots=True)
class Score:
    """What ranks a permutation."""

    correct: int
    n: int
    margin: float  #: mean over rows of the gold label's log-probability minus the highest other one (nats)
    log_loss: float | None = None  #: mean over rows (nats); ranks in place of the margin, if it was measured
    macro_f1: float = 0.0  #: over the labels of the rows
    objective: Objective = "accuracy"  #: which of the two figures ranks

    @classmethod
    def of(cls, judgement: Judgement, objective: Objective = "accuracy") -> "Score":
        """The score of a judgement."""
        return cls(
            correct=int(judgement.correct.sum()),
            n=len(judgement.gold),
            margin=float(judgement.margins.mean()),
            macro_f1=judgement.macro_f1,
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
