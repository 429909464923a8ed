"""Outcomes: the end of the judging of one permutation, finished or dropped."""

from dataclasses import dataclass

from lens_engine.judging.judgement import Judgement
from lens_engine.judging.score import Score


@dataclass(frozen=True)
class Finished:
    """The permutation was judged on every row; the judgement has the rows in their own order."""

    judgement: Judgement
    score: Score

    @property
    def charged_rows(self) -> int:
        """Number of rows that count towards the budget."""
        return self.score.n


@dataclass(frozen=True, slots=True)
class Dropped:
    """The permutation was dropped before the last row."""

    charged_rows: int  #: rows that count towards the budget: the rows judged


Outcome = Finished | Dropped
