"""The meter: scores in small chunks; between chunks it counts, reports progress and checks budget and cancellation."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from lens_engine.config import BudgetOptions
from lens_engine.metering.cost import Cost
from lens_engine.metering.journal import Journal
from lens_engine.metering.progress import Progress, SelectionListener
from lens_engine.scoring.base import Block, LabelScorer, Prefix, score_blocks
from lens_engine.scoring.cache.scorer import count_pairs_found
from lens_engine.scoring.limits import check_finite
from lens_engine.types import LabelLogProbs, Phase, StopReason

CHUNK_TOKENS = {"cpu": 8_192, "cuda": 65_536}
"""Tokens scored between two checks of budget and cancel flag, by device: about 4 s on two CPU cores, and enough to
fill forwards on a GPU. They are constants, because a 16-bit score may depend on the pairs scored in the same call."""


class Stopped(Exception):
    """Raised between chunks, when the budget is used up or the listener asks for a stop."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A block, the place of its scores in the whole array, and its cost."""

    rows: slice
    columns: slice
    block: Block
    cost: Cost


class _Peekable:
    """An iterator of chunks that shows the next one without taking it."""

    def __init__(self, chunks: Iterator[_Chunk]) -> None:
        self._chunks = chunks
        self._next: _Chunk | None = None

    def __iter__(self) -> "_Peekable":
        return self

    def __next__(self) -> _Chunk:
        chunk = self.peek()
        if chunk is None:
            raise StopIteration
        self._next = None
        return chunk

    def peek(self) -> _Chunk | None:
        """The next chunk; None after the last."""
        if self._next is None:
            self._next = next(self._chunks, None)
        return self._next


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
    pairs_from_cache: int = 0  #: part of `spent`; includes earlier attempts
    deadline: float | None = None  #: value of `clock`; ends the run as a budget does, and is no option of the run
    clock: Callable[[], float] = time.monotonic
    journal: Journal = field(default_factory=Journal)  #: keeps the scores of the current step
    met_deadline: bool = field(init=False, default=False)  #: whether work was left out for the deadline alone
    _ignores_budget: bool = field(init=False, default=False)
    _unpaired: int = field(init=False, default=0)  #: tokens spent on other work than pairs, in this attempt
    _started: float = field(init=False)
    _tokens_before: int = field(init=False, default=0)  #: tokens spent in earlier attempts
    _seconds_before: float = field(init=False, default=0.0)
    _tokens_from_cache: int = field(init=False, default=0)  #: or from the journal, in this attempt
    _pairs_found: int = field(init=False)  #: the scorer's count of pairs found, after the newest chunk
    _lengths: dict[str, int] = field(init=False, default_factory=dict)
    _stop_reason: StopReason | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._started = self.clock()
        self._pairs_found = count_pairs_found(self.scorer)

    def resume(self, spent: Cost, seconds: float, pairs_from_cache: int = 0) -> None:
        """Add what earlier attempts spent. The pace (tokens per second) is measured on this attempt only."""
        self.spent, self._tokens_before, self._seconds_before = spent, spent.tokens, seconds
        self.pairs_from_cache = pairs_from_cache

    def enter(self, phase: Phase, step: int, steps: int) -> None:
        """Begin step `step` (from 1) of a phase with `steps` steps, and tell the listener."""
        self.phase, self.step, self.steps = phase, step, steps
        self._report()

    def score(self, prefixes: Sequence[Prefix], queries: Sequence[str]) -> LabelLogProbs:
        """`label_log_probs  # [prefixes, queries, labels]`; see LabelScorer.score.

        A scorer with several workers scores several chunks at once. The chunks, and the chunk before which a
        budget of pairs ends the run, do not depend on the number of workers.

        Raises:
            Stopped: before a chunk that the budget does not cover, or when the listener asks for a stop.
        """
        result = np.empty((len(prefixes), len(queries), len(self.label_spans)), dtype=np.float32)
        chunks = _Peekable(self._chunks(prefixes, queries))
        self._stop_reason = None
        for chunk, scores in chain(self._replay(chunks), self._compute(chunks)):
            result[chunk.rows, chunk.columns] = scores
        if self._stop_reason is not None:
            raise Stopped(self._stop_reason)
        check_finite(result, self.label_spans)
        return result

    def finish(self) -> None:
        """Tell the listener that nothing is left to do: what was saved on the way is taken off the total."""
        self.planned = self.spent
        self._report()

    def spend(self, cost: Cost) -> None:
        """Count work other than scoring (such as training), just before the work is done.

        Raises:
            Stopped: the budget does not cover the work, or the listener asks for a stop.
        """
        reason = self._reason_to_stop(cost)
        if reason is not None:
            raise Stopped(reason)
        self._unpaired += cost.tokens
        self._count(cost)

    @contextmanager
    def beyond_budget(self) -> Iterator[None]:
        """A context in which the budget does not stop the run; a cancellation still does."""
        self._ignores_budget = True
        try:
            yield
        finally:
            self._ignores_budget = False

    def affords(self, cost: Cost) -> bool:
        """Whether the budget covers a step of this cost and the reserve."""
        return self._ignores_budget or (self._covers_pairs(cost) and self._covers_seconds(cost))

    @property
    def seconds(self) -> float:
        return self._seconds_before + self.clock() - self._started

    @property
    def tokens_per_second(self) -> float | None:
        """Pace of this attempt; tokens found in a cache are left out. None before anything was computed."""
        elapsed = self.clock() - self._started
        done = self.spent.tokens - self._tokens_before - self._tokens_from_cache
        return done / elapsed if done and elapsed > 0 else None

    def count_tokens(self, segment: str) -> int:
        if segment not in self._lengths:
            self.learn_lengths([segment])
        return self._lengths[segment]

    def learn_lengths(self, segments: Sequence[str]) -> None:
        """Tokenise all new segments, and remember their lengths."""
        new = [segment for segment in dict.fromkeys(segments) if segment not in self._lengths]
        if new:
            self._lengths.update(zip(new, self.scorer.count_tokens(new), strict=True))

    def _replay(self, chunks: "_Peekable") -> Iterator[tuple["_Chunk", LabelLogProbs]]:
        """The first chunks with their scores, as long as an earlier attempt scored them."""
        while (chunk := chunks.peek()) is not None and (entry := self.journal.replay(chunk.block)) is not None:
            self._stop_reason = self._reason_to_stop(chunk.cost)
            if self._stop_reason is not None:
                return
            next(chunks)
            self.spent = self.spent + chunk.cost
            self.pairs_from_cache += chunk.cost.pairs * entry.is_found
            self._tokens_from_cache += chunk.cost.tokens
            self._report()
            yield chunk, entry.scores

    def _compute(self, chunks: "_Peekable") -> Iterator[tuple["_Chunk", LabelLogProbs]]:
        """The other chunks with their scores, up to the one before which the run has to stop."""
        if self._stop_reason is not None:
            return
        taken = deque[_Chunk]()
        for scores in score_blocks(self.scorer, self._take(chunks, taken), self.label_spans):
            chunk = taken.popleft()
            is_found = self._count(chunk.cost)
            self.journal.keep(chunk.block, scores, is_found=is_found)
            yield chunk, scores

    def _take(self, chunks: Iterable["_Chunk"], taken: "deque[_Chunk]") -> Iterator[Block]:
        """Yield blocks until the run has to stop. `taken` holds the chunks that were handed out and not yet counted."""
        for chunk in chunks:
            self._stop_reason = self._reason_to_stop(sum((other.cost for other in taken), chunk.cost))
            if self._stop_reason is not None:
                return
            taken.append(chunk)
            yield chunk.block

    def _chunks(self, prefixes: Sequence[Prefix], queries: Sequence[str]) -> Iterator["_Chunk"]:
        for rows, columns in self._cut(prefixes, queries):
            block = Block(tuple(prefixes[rows]), tuple(queries[columns]))
            pairs = len(block.prefixes) * len(block.queries)
            yield _Chunk(rows, columns, block, Cost(pairs, self._tokens(block.prefixes, block.queries)))

    def _cut(self, prefixes: Sequence[Prefix], queries: Sequence[str]) -> Iterator[tuple[slice, slice]]:
        """Chunks of whole prefixes. A prefix whose queries exceed a chunk is cut along its queries."""
        self.learn_lengths([*queries, *(segment for prefix in prefixes for segment in prefix)])
        query_tokens = sum(map(self.count_tokens, queries))
        chunk_tokens = CHUNK_TOKENS.get(self.scorer.identity.device, CHUNK_TOKENS["cpu"])
        for rows in _runs([self._prefix_tokens(prefix) + query_tokens for prefix in prefixes], chunk_tokens):
            if rows.stop - rows.start > 1:
                yield rows, slice(0, len(queries))
            else:
                # Each cut feeds the prefix again. Chunks of long prefixes are longer, so at most an eighth is repeated.
                most = max(chunk_tokens, 8 * self._prefix_tokens(prefixes[rows.start]))
                for columns in _runs([self.count_tokens(query) for query in queries], most):
                    yield rows, columns

    def _tokens(self, prefixes: Sequence[Prefix], queries: Sequence[str]) -> int:
        """Tokens of these pairs; each prefix and each of its queries counts once."""
        own = sum(map(self.count_tokens, queries))
        return sum(self._prefix_tokens(prefix) for prefix in prefixes) + own * len(prefixes)

    def _prefix_tokens(self, prefix: Prefix) -> int:
        return sum(map(self.count_tokens, prefix))

    def _reason_to_stop(self, cost: Cost) -> StopReason | None:
        """The reason why work of this cost must not begin; None if it may begin."""
        asked = self.listener.stop_requested()
        if asked is None and not self._covers_chunk(cost):
            return StopReason.BUDGET
        return asked

    def _covers_chunk(self, cost: Cost) -> bool:
        """As `affords`, but ignores the pace in the first half of a time limit: the first chunks are slow."""
        return self._ignores_budget or (self._covers_pairs(cost) and self._covers_seconds(cost, is_chunk=True))

    def _covers_pairs(self, cost: Cost) -> bool:
        limit = self.budget.max_pairs
        return limit is None or self.spent.pairs + cost.pairs + self.reserve.pairs <= limit

    def _covers_seconds(self, cost: Cost, *, is_chunk: bool = False) -> bool:
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

    def _count(self, cost: Cost) -> bool:
        """Count work that was done; returns whether its scores were found in a cache."""
        self.spent = self.spent + cost
        found = count_pairs_found(self.scorer)
        is_found = found > self._pairs_found
        if is_found:
            self.pairs_from_cache += found - self._pairs_found
            self._tokens_from_cache += cost.tokens
        self._pairs_found = found
        self._report()
        return is_found

    def _report(self) -> None:
        pace = self.tokens_per_second
        planned = self.planned
        if self.spent.pairs:  # before the first pair, a method may be training
            planned = planned.within(self.budget.max_pairs, self._unpaired)
        left = max(planned.tokens - self.spent.tokens, 0)
        self.listener.on_progress(
            Progress(
                phase=self.phase,
                step=self.step,
                steps=self.steps,
                pairs_done=self.spent.pairs,
                pairs_total=max(planned.pairs, self.spent.pairs),
                tokens_done=self.spent.tokens,
                tokens_total=max(planned.tokens, self.spent.tokens),
                tokens_per_second=pace,
                eta_seconds=self._seconds_left(left / pace) if pace else None,
                best_validation_accuracy=self.best_validation_accuracy,
            )
        )


def _fits(elapsed: float, needed: float, limit: float, *, is_chunk: bool) -> bool:
    """Whether work of `needed` seconds fits a limit. A chunk in the first half of the limit always does."""
    return elapsed + needed <= limit or (is_chunk and elapsed < limit / 2)


def _runs(costs: Sequence[int], most: int) -> Iterator[slice]:
    """Slices of consecutive items whose costs sum to at most `most`; each slice has at least one item."""
    start, total = 0, 0
    for index, cost in enumerate(costs):
        if index > start and total + cost > most:
            yield slice(start, index)
            start, total = index, 0
        total += cost
    if start < len(costs):
        yield slice(start, len(costs))
