"""Outcomes: how the judging of a permutation ended."""

from dataclasses import dataclass

from lens_engine.judging.judgement import Judgement
from lens_engine.judging.score import Score


@dataclass(frozen=True)
class Finished:
    """Judged on every row, in the order of the rows."""

    judgement: Judgement
    score: Score

    @property
    def charged_rows(self) -> int:
        """Rows that a budget counts."""
        return self.score.n


@dataclass(frozen=True, slots=True)
class Dropped:
    """Left out before the last row."""

    most_correct: int  #: rows the permutation is right on, or could have been at most
    charged_rows: int  #: rows that a budget counts: those judged in halving, every row in a race


Outcome = Finished | Dropped
