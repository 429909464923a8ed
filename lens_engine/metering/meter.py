"""The meter: scores in small chunks; between chunks it counts, reports progress and checks budget and cancellation."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from lens_engine.config import BudgetOptions
from lens_engine.errors import BudgetSpent, ModelError
from lens_engine.metering.chunks import Chunk, ChunkCutter, count_label_tokens
from lens_engine.metering.cost import Cost
from lens_engine.metering.journal import Journal
from lens_engine.metering.money import Money
from lens_engine.metering.progress import Progress, SelectionListener
from lens_engine.metering.under_way import ChunkUnderWay
from lens_engine.scoring.base import Block, LabelScorer, Prefix, score_blocks
from lens_engine.scoring.cache.scorer import count_pairs_found
from lens_engine.scoring.interruption import interrupted_by
from lens_engine.scoring.limits import check_finite
from lens_engine.scoring.states import find_states_scorer
from lens_engine.types import LabelLogProbs, Phase, States, StopReason

_NOTHING = Cost()

_MOST_OVERTIME = 2.0
"""Time in which work that no budget leaves out may end, as a multiple of the budget of seconds."""

_REPORT_SECONDS = 1.0
"""Least time between two reports within a chunk."""

_STATES_QUERIES = 64
"""Queries whose hidden states are computed between two looks at the budget and at the listener."""


class Stopped(Exception):
    """Raised when the budget is used up, between chunks, or when the listener asks for a stop."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass
class Meter:
    """Scores in chunks for one run and one set of label spans."""

    scorer: LabelScorer
    label_spans: tuple[str, ...]
    listener: SelectionListener
    budget: BudgetOptions
    planned: Cost  #: of the whole run
    spent: Cost = Cost()  #: includes earlier attempts of a resumed run
    reserve: Cost = Cost()  #: kept for the test rows
    phase: Phase = Phase.FILTER
    step: int = 1
    steps: int = 1
    best_validation_accuracy: float | None = None
    survivors: int | None = None
    best_random_accuracy: float | None = None
    largest_class: float | None = None  #: share of the largest class among the validation rows
    pairs_from_cache: int = 0  #: part of `spent`; includes earlier attempts
    deadline: float | None = None  #: value of `clock`; ends the run as a budget does, and is no option of the run
    last_moment: float | None = None  #: value of `clock`; ends also the work that no budget leaves out
    clock: Callable[[], float] = time.monotonic
    journal: Journal = field(default_factory=Journal)  #: keeps the scores of the current step
    money: Money = field(init=False)
    met_deadline: bool = field(init=False, default=False)  #: whether work was left out for the deadline alone
    _ignores_budget: bool = field(init=False, default=False)
    _started: float = field(init=False)
    _tokens_before: int = field(init=False, default=0)  #: tokens spent in earlier attempts
    _seconds_before: float = field(init=False, default=0.0)
    _tokens_from_cache: int = field(init=False, default=0)  #: or from the journal, in this attempt
    _pairs_found: int = field(init=False)  #: the scorer's count of pairs found, after the newest chunk
    _lengths: dict[str, int] = field(init=False, default_factory=dict)
    _under_way: ChunkUnderWay = field(init=False)
    _held_pace: float | None = field(init=False, default=None)  #: when the chunk under way was last known to be further
    _held_tokens: int = field(init=False, default=0)  #: of that chunk, which were done then
    _reported_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._started = self._reported_at = self.clock()
        self._under_way = ChunkUnderWay(self.scorer)
        self._pairs_found = count_pairs_found(self.scorer)
        self.money = Money(self.scorer, self.label_spans, self.budget.max_cost)

    def resume(self, spent: Cost, seconds: float, pairs_from_cache: int = 0) -> None:
        """Add what earlier attempts spent. The pace (tokens per second) is measured on this attempt only."""
        self.spent, self._tokens_before, self._seconds_before = spent, spent.tokens, seconds
        self.pairs_from_cache = pairs_from_cache

    def ask(self, label_spans: tuple[str, ...]) -> None:
        """Score these label spans from now on."""
        self.label_spans = self.money.label_spans = label_spans

    def enter(self, phase: Phase, step: int, steps: int) -> None:
        """Begin step `step` (from 1) of a phase with `steps` steps, and tell the listener."""
        self.phase, self.step, self.steps = phase, step, steps
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
        """`label_log_probs  # [pairs, labels]` of each query after its own prefix; see PairScorer.score_pairs.

        Chunks, budgets and stops are as in `score`. The whole prompt of each pair counts.

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
        self.learn_lengths([*queries, *(segment for prefix in prefixes for segment in prefix)])
        label_tokens = count_label_tokens(self.label_spans, self.count_tokens)
        cutter = ChunkCutter(self.count_tokens, self.scorer.identity.device, label_tokens)
        chunks = deque(cut(cutter, prefixes, queries))
        while chunks and (entry := self.journal.replay(chunks[0].block, self.label_spans)) is not None:
            self._check(chunks[0].cost)
            chunk = chunks.popleft()
            self.pairs_from_cache += chunk.cost.pairs * entry.is_found
            self._tokens_from_cache += chunk.cost.tokens
            self._count(chunk.cost)
            result[chunk.rows, chunk.columns] = entry.scores
        try:
            with interrupted_by(self._hear), self.money.limited(self.reserve):
                for chunk, scores in self._compute(chunks):
                    result[chunk.rows, chunk.columns] = scores
        except BudgetSpent as error:
            raise Stopped(StopReason.BUDGET) from error
        return result

    @property
    def num_layers(self) -> int:
        """Number of decoder layers whose states the scorer shows; 0 if it shows none."""
        shown = find_states_scorer(self.scorer)
        return 0 if shown is None else shown.num_layers

    def states(self, prefix: Prefix, queries: Sequence[str], layers: Sequence[int]) -> States:
        """`states  # [layers, poolings, queries, size]`, in blocks of queries; see StatesScorer.states.

        Raises:
            Stopped: before a block that the budget does not cover, or when the listener asks for a stop.
            ModelError: the scorer shows no states.
        """
        scorer = find_states_scorer(self.scorer)
        if scorer is None:
            raise ModelError("the scorer shows no hidden states")
        self.learn_lengths([*queries, *prefix])
        held = sum(map(self.count_tokens, prefix))
        found = []
        for start in range(0, len(queries), _STATES_QUERIES):
            block = queries[start : start + _STATES_QUERIES]
            cost = Cost(len(block), held + sum(map(self.count_tokens, block)))
            self._check(cost)
            self._hold_pace()
            try:
                with interrupted_by(self._hear):
                    found.append(scorer.states(prefix, block, layers))
            finally:
                self._leave_chunk()
            self._count(cost)
        return np.concatenate(found, axis=2)

    def finish(self) -> None:
        """Tell the listener that nothing is left to do: what was saved on the way is taken off the total."""
        self.planned = self.spent
        self._report()

    @contextmanager
    def beyond_budget(self) -> Iterator[None]:
        """A context in which the budget does not stop the run.

        A cancellation still does, and so do twice the budget of seconds and the last moment.
        """
        self._ignores_budget = True
        try:
            yield
        finally:
            self._ignores_budget = False

    def affords(self, cost: Cost, *, is_chunk: bool = False, taken: Cost = _NOTHING) -> bool:
        """Whether the budget covers a step of this cost and the reserve.

        A chunk is afforded in the first half of a time limit, whatever the pace: the first chunks are slow.

        Args:
            taken: cost of the chunks that the scorer took and that are not counted yet.
        """
        if self._ignores_budget:
            return not self._is_overdue()
        all_taken = taken + cost
        return (
            self._covers_pairs(all_taken)
            and self._covers_seconds(all_taken, is_chunk=is_chunk)
            and self.money.covers(cost, self.reserve)  # it knows the requests that wait
        )

    @property
    def seconds(self) -> float:
        return self._seconds_before + self.clock() - self._started

    @property
    def tokens_per_second(self) -> float | None:
        """Pace of this attempt; tokens found in a cache are left out. None before anything was computed.

        The part of a chunk that is known to be done counts. Until more of it is, the pace stays as it is.
        """
        if self._held_pace is not None:
            return self._held_pace
        elapsed = self.clock() - self._started
        computed = self.spent.tokens + self._under_way.done.tokens
        done = computed - self._tokens_before - self._tokens_from_cache
        return done / elapsed if done > 0 and elapsed > 0 else None

    def count_tokens(self, segment: str) -> int:
        if segment not in self._lengths:
            self.learn_lengths([segment])
        return self._lengths[segment]

    def learn_lengths(self, segments: Sequence[str]) -> None:
        """Tokenise all new segments, and remember their lengths."""
        new = [segment for segment in dict.fromkeys(segments) if segment not in self._lengths]
        if new:
            self._lengths.update(zip(new, self.scorer.count_tokens(new), strict=True))

    def _compute(self, chunks: deque[Chunk]) -> Iterator[tuple[Chunk, LabelLogProbs]]:
        """Yield the chunks with their scores, up to the one before which the run has to stop.

        Raises:
            Stopped: after the chunks that the scorer took by then.
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
                self._under_way.begin(taken[-1].cost, count_label_tokens(self.label_spans, self.count_tokens))
                if len(taken) == 1:
                    self._hold_pace()
                yield taken[-1].block

        try:
            for scores in score_blocks(self.scorer, take(), self.label_spans):
                chunk = taken.popleft()
                is_found = self._count_found(chunk.cost)
                self._leave_chunk()
                self._count(chunk.cost)
                if taken:
                    self._hold_pace()
                self.journal.keep(chunk.block, self.label_spans, scores, is_found=is_found)
                yield chunk, scores
        finally:
            self._leave_chunk()  # also one that was stopped
        if reason is not None:
            raise Stopped(reason)

    def _hold_pace(self) -> None:
        self._held_pace, self._held_tokens = None, self._under_way.done.tokens
        self._held_pace = self.tokens_per_second

    def _leave_chunk(self) -> None:
        self._under_way.end()
        self._held_pace, self._held_tokens = None, 0

    def _hear(self) -> None:
        """Let the listener or a time limit stop the chunk under way: it may take minutes, here or at a server."""
        if self._under_way.done.tokens > self._held_tokens:
            self._hold_pace()
        asked = self.listener.stop_requested()
        if asked is None:
            is_late = self._is_overdue() if self._ignores_budget else not self._covers_seconds(_NOTHING, is_chunk=True)
            asked = StopReason.BUDGET if is_late else None
        if asked is not None:
            raise Stopped(asked)
        if self.clock() - self._reported_at >= _REPORT_SECONDS:
            self._report(self._under_way.done)

    def _check(self, cost: Cost) -> None:
        reason = self._reason_to_stop(cost)
        if reason is not None:
            raise Stopped(reason)

    def _reason_to_stop(self, cost: Cost, taken: Cost = _NOTHING) -> StopReason | None:
        """The reason why a chunk of this cost must not begin; None if it may begin."""
        asked = self.listener.stop_requested()
        if asked is None and not self.affords(cost, is_chunk=True, taken=taken):
            return StopReason.BUDGET
        return asked

    def _is_overdue(self) -> bool:
        """Whether work that no budget leaves out has taken the time limit once more, or its last moment is over."""
        limit = self.budget.max_seconds
        if limit is not None and self.seconds > _MOST_OVERTIME * limit:
            return True
        is_over = self.last_moment is not None and self.clock() > self.last_moment
        self.met_deadline |= is_over
        return is_over

    def _covers_pairs(self, cost: Cost) -> bool:
        limit = self.budget.max_pairs
        return limit is None or self.spent.pairs + cost.pairs + self.reserve.pairs <= limit

    def _covers_seconds(self, cost: Cost, *, is_chunk: bool) -> bool:
        limit, pace = self.budget.max_seconds, self.tokens_per_second
        needed = (cost.tokens + self.reserve.tokens) / pace if pace else 0.0
        if limit is not None and not _fits(self.seconds, needed, limit, is_chunk=is_chunk):
            return False
        if self.deadline is None:
            return True
        now = self.clock()
        fits = _fits(now - self._started, needed, self.deadline - self._started, is_chunk=is_chunk)
        self.met_deadline |= not fits
        return fits

    def _seconds_left(self, seconds: float) -> float:
        """Cut to what the budget of seconds and the deadline leave."""
        limits = [seconds]
        if self.budget.max_seconds is not None:
            limits.append(self.budget.max_seconds - self.seconds)
        if self.deadline is not None:
            limits.append(self.deadline - self.clock())
        return max(min(limits), 0.0)

    def _count_found(self, cost: Cost) -> bool:
        """Whether the newest chunk was found in a cache, at least in part; counts what was found."""
        newly_found = count_pairs_found(self.scorer) - self._pairs_found
        self._pairs_found += newly_found
        self.pairs_from_cache += newly_found
        self._tokens_from_cache += round(cost.tokens * min(newly_found / max(cost.pairs, 1), 1.0))
        return newly_found > 0

    def _count(self, cost: Cost) -> None:
        self.spent = self.spent + cost
        self._report()

    def _report(self, under_way: Cost = _NOTHING) -> None:
        """Tell the listener; `under_way` is the part of a chunk that is done but not counted yet."""
        self._reported_at = self.clock()
        pace = self.tokens_per_second
        planned, spent = self.planned.within(self.budget.max_pairs), self.spent + under_way
        left = max(planned.tokens - spent.tokens, 0)
        self.listener.on_progress(
            Progress(
                phase=self.phase,
                step=self.step,
                steps=self.steps,
                pairs_done=spent.pairs,
                pairs_total=max(planned.pairs, spent.pairs),
                tokens_done=spent.tokens,
                tokens_total=max(planned.tokens, spent.tokens),
                tokens_per_second=pace,
                eta_seconds=self._seconds_left(left / pace) if pace else None,
                best_validation_accuracy=self.best_validation_accuracy,
                survivors=self.survivors,
                best_random_accuracy=self.best_random_accuracy,
                largest_class=self.largest_class,
            )
        )


def _fits(elapsed: float, needed: float, limit: float, *, is_chunk: bool) -> bool:
    return elapsed + needed <= limit or (is_chunk and elapsed < limit / 2)
