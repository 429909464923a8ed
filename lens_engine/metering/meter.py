"""The meter: scores in small chunks; between chunks it counts, reports progress and checks budget and cancellation."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import InitVar, dataclass, field

import numpy as np

from lens_engine.config import BudgetOptions
from lens_engine.errors import BudgetSpent
from lens_engine.metering.chunks import Chunk, ChunkCutter, Pace, SegmentLengths, count_label_tokens
from lens_engine.metering.limits import NO_COST, Limits, Money, Stopped
from lens_engine.metering.prices import Cost
from lens_engine.metering.progress import SelectionListener, Standing
from lens_engine.model.base import Block, LabelScorer, Prefix
from lens_engine.model.limits import check_finite, check_refused, count_refused, interrupted_by
from lens_engine.types import LabelLogProbs, Phase, States, StopReason

_REPORT_SECONDS = 1.0
"""Least time between two reports within a chunk."""

_STATES_QUERIES = 64
"""Queries whose hidden states are computed between two looks at the budget and at the listener."""


@dataclass
class Meter:
    """Scores in chunks for one run and one set of label spans."""

    scorer: LabelScorer
    label_spans: tuple[str, ...]
    listener: SelectionListener
    budget: InitVar[BudgetOptions]
    planned: Cost  #: of the whole run
    reserve: InitVar[Cost] = NO_COST
    deadline: InitVar[float | None] = None
    last_moment: InitVar[float | None] = None
    clock: Callable[[], float] = time.monotonic
    spent: Cost = NO_COST  #: includes earlier attempts of a resumed run
    pairs_from_cache: int = 0  #: part of `spent`; includes earlier attempts
    refused: int = 0  #: part of `spent`: pairs that the server refused for their content; includes earlier attempts
    standing: Standing = field(init=False, default_factory=Standing)
    lengths: SegmentLengths = field(init=False)
    limits: Limits = field(init=False)
    pace: Pace = field(init=False)
    _pairs_found: int = field(init=False)  #: the scorer's count of pairs found, after the newest chunk
    _reported_at: float = field(init=False)

    def __post_init__(
        self, budget: BudgetOptions, reserve: Cost, deadline: float | None, last_moment: float | None
    ) -> None:
        """The arguments are fields of `limits`, which says their units."""
        money, now = Money(self.scorer, self.label_spans, budget.max_cost), self.clock()
        self.limits = Limits(budget, money, self.clock, now, deadline, last_moment, reserve)
        self.pace, self.lengths = Pace(self.scorer, self.clock), SegmentLengths(self.scorer)
        self._reported_at, self._pairs_found = now, self.scorer.pairs_found

    def resume(self, spent: Cost, seconds: float, pairs_from_cache: int = 0, refused: int = 0) -> None:
        """Add what earlier attempts spent. The pace is measured on this attempt only."""
        self.spent, self.limits.seconds_before = spent, seconds
        self.pairs_from_cache, self.refused = pairs_from_cache, refused

    def use_label_spans(self, label_spans: tuple[str, ...]) -> None:
        """Score these label spans from now on."""
        self.label_spans = self.limits.money.label_spans = label_spans

    def enter(self, phase: Phase, step: int, steps: int) -> None:
        """Begin step `step` (from 1) of a phase with `steps` steps, and tell the listener."""
        if phase is not self.standing.phase:
            self.pace.begin_phase()
        self.standing.phase, self.standing.step, self.standing.steps = phase, step, steps
        self._report()

    def score(self, prefixes: Sequence[Prefix], queries: Sequence[str]) -> LabelLogProbs:
        """`label_log_probs  # [prefixes, queries, labels]`; see LabelScorer.score.

        A scorer with several workers scores several chunks at once. The chunks, and the chunk before which a
        budget of pairs ends the run, do not depend on the number of workers.

        Raises:
            Stopped: before a chunk or a request that the budget does not cover, or when the listener asks for a stop.
        """
        result = self._score(ChunkCutter.cut, prefixes, queries, len(prefixes))
        check_finite(result, self.label_spans)
        return result

    def score_pairs(self, prefixes: Sequence[Prefix], queries: Sequence[str]) -> LabelLogProbs:
        """`label_log_probs  # [pairs, labels]` of each query after its own prefix; see LabelScorer.score_pairs.

        Chunks, budgets and stops are as in `score`. What all prompts of a chunk begin with counts once.

        Raises:
            ValueError: there are not as many prefixes as queries.
            Stopped: as `score`.
        """
        (result,) = self._score(ChunkCutter.cut_pairs, prefixes, queries, 1)
        check_finite(result, self.label_spans)
        return np.asarray(result)

    def _score(
        self,
        cut: Callable[[ChunkCutter, Sequence[Prefix], Sequence[str]], Iterator[Chunk]],
        prefixes: Sequence[Prefix],
        queries: Sequence[str],
        num_rows: int,
    ) -> LabelLogProbs:
        """`label_log_probs  # [rows, queries, labels]`, in the chunks of this method of `ChunkCutter`."""
        result = np.empty((num_rows, len(queries), len(self.label_spans)), dtype=np.float32)
        self.lengths.learn([*queries, *(segment for prefix in prefixes for segment in prefix)])
        label_tokens = count_label_tokens(self.label_spans, self.lengths.count)
        cutter = ChunkCutter(self.lengths.count, self.scorer.identity.device, label_tokens)
        chunks = deque(cut(cutter, prefixes, queries))
        try:
            with interrupted_by(self._heed_stop), self.limits.money.limited(self.limits.reserve):
                for chunk, scores in self._compute(chunks, label_tokens):
                    result[chunk.rows, chunk.columns] = scores
        except BudgetSpent as error:
            raise Stopped(StopReason.BUDGET) from error
        return result

    def states(self, prefix: Prefix, queries: Sequence[str], layers: Sequence[int]) -> States:
        """`states  # [layers, poolings, queries, size]`, in blocks of queries; see LabelScorer.states.

        Raises:
            Stopped: before a block that the budget does not cover, or when the listener asks for a stop.
            ModelError: the scorer shows no states.
        """
        self.lengths.learn([*queries, *prefix])
        held = sum(map(self.lengths.count, prefix))
        found = []
        for start in range(0, len(queries), _STATES_QUERIES):
            block = queries[start : start + _STATES_QUERIES]
            cost = Cost(len(block), held + sum(map(self.lengths.count, block)))
            if (reason := self._reason_to_stop(cost)) is not None:
                raise Stopped(reason)
            self.pace.start()
            with interrupted_by(self._heed_stop):
                found.append(self.scorer.states(prefix, block, layers))
            self.pace.end(0, cost.tokens)
            self._count(cost)
        return np.concatenate(found, axis=2)

    def finish(self) -> None:
        """Tell the listener that nothing is left to do: what was saved on the way is taken off the total."""
        self.planned = self.spent
        self._report()

    def affords(self, cost: Cost) -> bool:
        """Whether the limits leave enough for a step of this cost and the reserve."""
        return self.limits.afford(self.spent, cost, self.pace.per_second)

    def _compute(self, chunks: deque[Chunk], label_tokens: int) -> Iterator[tuple[Chunk, LabelLogProbs]]:
        """The chunks with their scores, in order.

        The scorer may take chunks ahead of the scores that it returns. A stop gives it no more, and `Stopped` comes
        after the scores of those that it has.
        """
        taken = deque[Chunk]()
        reason: StopReason | None = None

        def take() -> Iterator[Block]:
            nonlocal reason
            while chunks:
                reason = self._reason_to_stop(chunks[0].cost, sum((other.cost for other in taken), Cost()))
                if reason is not None:
                    return
                taken.append(chunks.popleft())
                self.pace.begin(taken[-1].cost, label_tokens)
                yield taken[-1].block

        self.pace.start()
        try:
            for scores in self.scorer.score_blocks(take(), self.label_spans):
                chunk = taken.popleft()
                num_found = self._count_found()
                known = round(chunk.cost.tokens * min(num_found / max(chunk.cost.pairs, 1), 1.0))
                self.pace.end(chunk.cost.tokens, chunk.cost.tokens - known)
                self._count(chunk.cost, refused=count_refused(scores))
                yield chunk, scores
        finally:
            self.pace.stop()
        if reason is not None:
            raise Stopped(reason)

    def _heed_stop(self) -> None:
        """Let the listener or a time limit stop the chunk under way: it may take minutes, here or at a server."""
        self.pace.look()
        asked = self.listener.stop_requested()
        if asked is None and self.limits.is_late(self.pace.per_second):
            asked = StopReason.BUDGET
        if asked is not None:
            raise Stopped(asked)
        if self.clock() - self._reported_at >= _REPORT_SECONDS:
            self._report(self.pace.done)

    def _reason_to_stop(self, cost: Cost, taken: Cost = NO_COST) -> StopReason | None:
        """The reason why a chunk of this cost must not begin; None if it may begin."""
        asked, pace = self.listener.stop_requested(), self.pace.per_second
        if asked is None and not self.limits.afford(self.spent, cost, pace, is_chunk=True, taken=taken):
            return StopReason.BUDGET
        return asked

    def _count_found(self) -> int:
        """Number of pairs of the newest chunk that were found in a cache."""
        newly_found = self.scorer.pairs_found - self._pairs_found
        self._pairs_found += newly_found
        self.pairs_from_cache += newly_found
        return newly_found

    def _count(self, cost: Cost, refused: int = 0) -> None:
        self.spent, self.refused = self.spent + cost, self.refused + refused
        check_refused(self.refused, max(self.spent.pairs, self.planned.pairs), self.scorer.identity.model)
        self._report()

    def _report(self, under_way: Cost = NO_COST) -> None:
        """Tell the listener; `under_way` is the part of a chunk that is done but not counted yet."""
        self._reported_at, pace = self.clock(), self.pace.per_second
        planned, spent = self.planned.within(self.limits.budget.max_pairs), self.spent + under_way
        left = self.pace.time(max(planned.tokens - spent.tokens, 0))
        seconds = None if left is None else self.limits.cut_seconds(left)
        self.listener.on_progress(self.standing.describe(spent, planned, pace, seconds))
