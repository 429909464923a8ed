"""A race: judge permutations block by block, hardest rows first, and drop each one that can no longer win.

A race has k places. A permutation that is right on h of the rows it has seen, with r rows left, ends with h to h + r
rows right. Once h + r is less than the number of rows that each of k others already has right, the permutation cannot
be among the best k by accuracy, and the race drops it. The comparison is strict: a permutation that could still tie
stays, and the tie is broken by the mean margin, then by the permutation itself (`rank_key`). So the best k and their
scores equal those of judging every permutation on every row, given the same log-probabilities. The order of the rows
and the size of the blocks change only how early a permutation is dropped.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from lens_engine.judging.judgement import Judgement
from lens_engine.judging.outcome import Dropped, Finished, Outcome
from lens_engine.judging.score import Score
from lens_engine.types import FloatArray, IndexArray

JudgeBlock = Callable[[Sequence[int], IndexArray, bool], list[Judgement]]
"""Judges contenders (by number) on rows. The last argument says whether it is their first block: if ranking is
calibrated, the first block includes the content-free input."""


@dataclass(frozen=True)
class Incumbents:
    """Permutations that were judged on every row, which the contenders have to beat."""

    correct: tuple[int, ...] = ()  #: number of rows that each is right on
    margins: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    """`[permutations, rows]`: log-probability of the gold label less that of the best other one (natural log)."""

    def order_rows(self, num_rows: int) -> IndexArray:
        """`[rows]`, hardest first: by the number of wrong predictions, then by the mean margin, then by position."""
        if not len(self.margins):
            return np.arange(num_rows)
        wrong = (self.margins <= 0.0).sum(axis=0)
        return np.lexsort((np.arange(num_rows), self.margins.mean(axis=0), -wrong))


@dataclass(eq=False)
class _Contender:
    number: int
    judgement: Judgement | None = None  #: on the rows seen so far, in the order of the race
    seen: int = 0
    correct: int = 0  #: rows right, among the rows seen

    def add(self, block: Judgement) -> None:
        self.judgement = block if self.judgement is None else self.judgement.extend(block)
        self.seen, self.correct = len(self.judgement.gold), int(self.judgement.ranked_hits.sum())


@dataclass
class Race:
    """One race for a number of places."""

    judge: JudgeBlock
    order: IndexArray  #: `[rows]`, the order in which the rows are judged
    least_block: int  #: least number of rows judged at a time
    incumbents: tuple[int, ...]  #: number of rows that each incumbent is right on
    places: int
    dtype: str = "float32"  #: number format of the log-probabilities
    _contenders: list[_Contender] = field(init=False, default_factory=list)

    def run(self, num_contenders: int) -> list[Outcome]:
        """The outcome of each contender.

        A dropped contender is charged for every row. Random-and-validation at equal budget races too and is charged in
        the same way, so both sides judge equally many permutations. After the first block the leaders are judged to
        the end: their final counts raise the bound that drops most of the others.
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
        """Judge contenders that have seen equally many rows up to row `end`; returns those still in the race."""
        if pack:
            start = pack[0].seen
            blocks = self.judge([one.number for one in pack], self.order[start:end], start == 0)
            for one, block in zip(pack, blocks, strict=True):
                one.add(block)
        return self._keep(pack)

    def _keep(self, pack: Sequence[_Contender]) -> list[_Contender]:
        """The contenders that have rows left and can still take a place."""
        bound = self._bound()
        return [one for one in pack if one.seen < len(self.order) and self._most(one) >= bound]

    def _bound(self) -> int:
        """The largest number of rows that at least `places` permutations already have right."""
        sure = sorted((*self.incumbents, *(one.correct for one in self._contenders)), reverse=True)
        return sure[self.places - 1] if len(sure) >= self.places else 0

    def _most(self, one: _Contender) -> int:
        return one.correct + len(self.order) - one.seen

    def _end_of_block(self, pack: Sequence[_Contender]) -> int:
        """Row at which the next block ends.

        A block has twice as many rows as the best of the pack must get wrong before it is dropped. It has at most two
        thirds of all rows, unless `least_block` or a short remainder makes it longer. The rule was tuned on simulated
        and recorded beams; it changes only the cost.
        """
        seen, num_rows = pack[0].seen, len(self.order)
        # Rows that the best of the pack may still get wrong and stay in the race.
        may_miss = max(self._most(one) for one in pack) - self._bound()
        end = seen + max(self.least_block, min(2 * (may_miss + 1), 2 * num_rows // 3))
        return num_rows if num_rows - end < self.least_block / 2 else end

    def _outcome(self, one: _Contender) -> Outcome:
        if one.judgement is None or one.seen < len(self.order):
            return Dropped(self._most(one), charged_rows=len(self.order))
        judgement = one.judgement.take(np.argsort(self.order))
        return Finished(judgement, Score.of(judgement, self.dtype))
