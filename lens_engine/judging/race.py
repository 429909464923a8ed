"""A race: permutations are judged block by block, hardest rows first, and leave when they cannot win.

A permutation that is right on h of the rows it has seen, with r rows left, ends with h to h + r. Once h + r is less
than what each of k others is sure of, it is not among the best k by accuracy, whatever its margin, and is dropped.
The comparison is strict, so one that could still draw level stays, and its margin and rows decide as ever. Hence the
best k, and their scores, are those of judging everything. The order of the rows and the blocks decide only how
early a permutation leaves.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from lens_engine.judging.judgement import Judgement
from lens_engine.judging.outcome import Dropped, Finished, Outcome
from lens_engine.judging.score import Score
from lens_engine.types import FloatArray, IndexArray

JudgeBlock = Callable[[Sequence[int], IndexArray, bool], list[Judgement]]
"""Judges the contenders of these numbers on these rows. Whether it is their first block: then the
content-free input is asked too, where ranking is calibrated."""


@dataclass(frozen=True)
class Incumbents:
    """Permutations judged to their end, which contenders have to beat."""

    correct: tuple[int, ...] = ()  #: rows each is right on
    margins: FloatArray = field(default_factory=lambda: np.empty((0, 0)))  #: `[permutations, rows]`, of any known

    def order_rows(self, num_rows: int) -> IndexArray:
        """Hardest first: rows that most get wrong, then of the least mean margin, then in their own order."""
        if not len(self.margins):
            return np.arange(num_rows)
        wrong = (self.margins <= 0.0).sum(axis=0)
        return np.lexsort((np.arange(num_rows), self.margins.mean(axis=0), -wrong))


@dataclass(eq=False)
class _Contender:
    number: int
    judgement: Judgement | None = None  #: of the rows seen so far, in the order of the race
    seen: int = 0
    correct: int = 0  #: of the rows seen

    def add(self, block: Judgement) -> None:
        self.judgement = block if self.judgement is None else self.judgement.extend(block)
        self.seen, self.correct = len(self.judgement.gold), int(self.judgement.ranked_hits.sum())


@dataclass
class Race:
    """One race for so many places."""

    judge: JudgeBlock
    order: IndexArray  #: `[rows]`, in which the rows are judged
    least_block: int  #: rows judged at a time, at least
    incumbents: tuple[int, ...]  #: rows each incumbent is right on
    places: int
    dtype: str = "float32"  #: number format of the log-probabilities
    _contenders: list[_Contender] = field(init=False, default_factory=list)

    def run(self, num_contenders: int) -> list[Outcome]:
        """How each contender ended. A dropped one is charged with every row.

        After the first block the leaders run to their end: what they are sure of drops most of the others.
        """
        self._contenders = [_Contender(number) for number in range(num_contenders)]
        pack = self._advance(self._contenders, self._end_of_block(self._contenders))
        leaders = sorted(pack, key=lambda one: (-one.correct, one.number))[: self.places]
        self._advance(leaders, len(self.order))
        pack = self._keep([one for one in pack if one not in leaders])
        while pack:
            pack = self._advance(pack, self._end_of_block(pack))
        return [self._outcome(one) for one in self._contenders]

    def _advance(self, pack: Sequence[_Contender], end: int) -> list[_Contender]:
        """Judge contenders that have seen equally many rows up to this one; those still in the race."""
        if pack:
            start = pack[0].seen
            blocks = self.judge([one.number for one in pack], self.order[start:end], start == 0)
            for one, block in zip(pack, blocks, strict=True):
                one.add(block)
        return self._keep(pack)

    def _keep(self, pack: Sequence[_Contender]) -> list[_Contender]:
        """Those with rows left that may still take a place."""
        bound = self._bound()
        return [one for one in pack if one.seen < len(self.order) and self._most(one) >= bound]

    def _bound(self) -> int:
        """Rows that as many permutations as there are places are sure of, at least."""
        sure = sorted((*self.incumbents, *(one.correct for one in self._contenders)), reverse=True)
        return sure[self.places - 1] if len(sure) >= self.places else 0

    def _most(self, one: _Contender) -> int:
        return one.correct + len(self.order) - one.seen

    def _end_of_block(self, pack: Sequence[_Contender]) -> int:
        """Where the next block ends: twice as far as the best of the pack would need, missing every row, to be dropped.

        Never past two thirds of the rows at once, and a short rest goes with the block before it. Found with
        simulated and recorded beams; it decides the cost alone.
        """
        seen, num_rows = pack[0].seen, len(self.order)
        may_miss = max(self._most(one) for one in pack) - self._bound()
        end = seen + max(self.least_block, min(2 * (may_miss + 1), 2 * num_rows // 3))
        return num_rows if num_rows - end < self.least_block / 2 else end

    def _outcome(self, one: _Contender) -> Outcome:
        if one.judgement is None or one.seen < len(self.order):
            return Dropped(self._most(one), charged_rows=len(self.order))
        judgement = one.judgement.take(np.argsort(self.order))
        return Finished(judgement, Score.of(judgement, self.dtype))
