from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import count, islice, product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lens_engine.config import BudgetOptions
from lens_engine.errors import NonFiniteScore
from lens_engine.metering.limits import Stopped
from lens_engine.metering.prices import CHUNK_TOKENS, Cost
from lens_engine.model.base import Block, Prefix
from lens_engine.model.limits import look_up
from lens_engine.testing import StatesTableScorer, TableScorer
from lens_engine.types import LabelLogProbs, Phase, StopReason

Make = Callable[..., Any]

SPANS = (" no", " yes")


def words(count: int, name: str) -> str:
    return " ".join([name] * count)


def make_prefixes(lengths: Sequence[int]) -> list[Prefix]:
    return [(words(length, f"p{place}"),) for place, length in enumerate(lengths)]


def make_queries(lengths: Sequence[int]) -> list[str]:
    return [words(length, f"q{place}") for place, length in enumerate(lengths)]


class ChunkRecorder(TableScorer):
    """Remembers which texts were asked together."""

    def __init__(self) -> None:
        super().__init__(lambda prefix, query, _: -len(" ".join((*prefix, query)).split()), max_prompt_tokens=100_000)
        self.chunks: list[tuple[tuple[Prefix, ...], tuple[str, ...]]] = []

    def score(self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]) -> LabelLogProbs:
        self.chunks.append((tuple(prefixes), tuple(queries)))
        return super().score(prefixes, queries, label_spans)

    def score_pairs(
        self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]
    ) -> LabelLogProbs:
        self.chunks.append((tuple(prefixes), tuple(queries)))
        return super().score_pairs(prefixes, queries, label_spans)


class Clock:
    """A clock that moves on when told, or by a step whenever a scorer is called."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> Callable[[int], None]:
        def move(_: int) -> None:
            self.now += seconds

        return move


@settings(deadline=None)
@given(
    prefixes=st.lists(st.integers(0, 6000), min_size=1, max_size=12),
    queries=st.lists(st.integers(1, 3000), min_size=1, max_size=8),
)
def test_chunks_cover_each_pair_once_within_tokens(make_meter: Make, prefixes: list[int], queries: list[int]) -> None:
    scorer = ChunkRecorder()
    meter = make_meter(scorer, label_spans=SPANS)
    asked_prefixes, asked_queries = make_prefixes(prefixes), make_queries(queries)

    scores = meter.score(asked_prefixes, asked_queries)

    pairs = [(prefix, query) for chunk, columns in scorer.chunks for prefix in chunk for query in columns]
    assert Counter(pairs) == Counter(product(asked_prefixes, asked_queries))
    assert meter.spent.pairs == scorer.num_pairs == len(pairs)
    assert np.array_equal(scores[..., 0], -np.add.outer(np.array(prefixes), np.array(queries)).astype(np.float32))
    total = 0
    for chunk, columns in scorer.chunks:
        query_tokens = sum(len(query.split()) for query in columns)
        tokens = sum(len(prefix[0].split()) + query_tokens for prefix in chunk)
        assert tokens <= CHUNK_TOKENS["cpu"] or len(chunk) == 1
        longest = max(len(prefix[0].split()) for prefix in chunk)
        assert query_tokens <= max(CHUNK_TOKENS["cpu"], 8 * longest)
        total += tokens
    assert meter.spent.tokens == total


def test_long_prefix_is_repeated_for_an_eighth_of_its_tokens_at_most(make_meter: Make) -> None:
    scorer = ChunkRecorder()

    make_meter(scorer, label_spans=SPANS).score(make_prefixes([5000]), make_queries([1000] * 100))

    assert len(scorer.chunks) == 3, "cut by 8,192 tokens there would be 13"


def test_reserve_is_not_spent(make_meter: Make) -> None:
    meter = make_meter(budget=BudgetOptions(max_pairs=100), reserve=Cost(pairs=60))

    assert meter.affords(Cost(pairs=40))
    assert not meter.affords(Cost(pairs=41))
    with pytest.raises(Stopped):
        meter.score([()], make_queries([1] * 41))
    meter.limits.reserve = Cost()
    assert meter.affords(Cost(pairs=100))


def test_time_budget_counts_the_seconds_of_the_work_to_come(make_meter: Make) -> None:
    clock = Clock()
    scorer = TableScorer(before_call=clock.advance(2.0))
    meter = make_meter(scorer, budget=BudgetOptions(max_seconds=10.0), clock=clock)

    assert meter.affords(Cost(tokens=10**9)), "no pace is known yet"
    meter.score([()], make_queries([10]))  # 10 tokens in 2 seconds

    assert meter.pace.per_second == 5.0
    assert meter.affords(Cost(tokens=40))
    assert not meter.affords(Cost(tokens=41))
    meter.limits.reserve = Cost(tokens=10)
    assert not meter.affords(Cost(tokens=31))


@pytest.mark.parametrize(
    ("max_seconds", "deadline", "met_deadline"), [(5.0, None, False), (100.0, 5.0, True), (5.0, 100.0, False)]
)
def test_time_limit_stops_between_chunks_and_only_the_deadline_is_blamed_for_itself(
    max_seconds: float, deadline: float | None, met_deadline: bool, make_meter: Make
) -> None:
    clock = Clock()
    scorer = TableScorer(before_call=clock.advance(2.0), max_prompt_tokens=100_000)
    ends = None if deadline is None else clock() + deadline
    meter = make_meter(scorer, budget=BudgetOptions(max_seconds=max_seconds), deadline=ends, clock=clock)

    with pytest.raises(Stopped) as stopped:
        meter.score(make_prefixes([8000] * 5), make_queries([10]))

    assert stopped.value.reason is StopReason.BUDGET
    assert (scorer.num_calls, meter.limits.seconds, meter.limits.met_deadline) == (2, 4.0, met_deadline)


def test_test_rows_are_judged_beyond_the_deadline(make_meter: Make) -> None:
    clock = Clock()
    meter = make_meter(deadline=clock() - 1.0, clock=clock)

    assert not meter.affords(Cost(1, 1))
    with meter.limits.beyond_budget():
        assert meter.score([()], make_queries([10])).shape == (1, 1, 2)


def test_test_rows_end_at_the_last_moment(make_meter: Make) -> None:
    clock = Clock()
    meter = make_meter(deadline=clock() - 2.0, last_moment=clock() - 1.0, clock=clock)

    with meter.limits.beyond_budget(), pytest.raises(Stopped) as stopped:
        meter.score([()], make_queries([10]))

    assert (stopped.value.reason, meter.limits.met_deadline) == (StopReason.BUDGET, True)


def test_resumed_meter_goes_on_counting_but_measures_its_own_pace(make_meter: Make) -> None:
    clock = Clock()
    meter = make_meter(TableScorer(before_call=clock.advance(2.0)), clock=clock)

    meter.resume(Cost(pairs=500, tokens=90_000), seconds=300.0)
    assert meter.pace.per_second is None
    meter.score([()], make_queries([10]))

    assert meter.spent == Cost(501, 90_010)
    assert meter.limits.seconds == 302.0
    assert meter.pace.per_second == 5.0


def test_seconds_of_earlier_attempts_count_against_the_limit_but_not_against_the_deadline(make_meter: Make) -> None:
    limited = make_meter(budget=BudgetOptions(max_seconds=10.0), clock=Clock())
    due = make_meter(deadline=Clock()() + 10.0, clock=Clock())

    for meter in (limited, due):
        meter.resume(Cost(1, 1), seconds=11.0)

    assert not limited.affords(Cost())
    assert due.affords(Cost())


def test_time_to_the_end_is_cut_to_what_deadline_and_budget_leave(make_meter: Make) -> None:
    clock = Clock()
    limits = make_meter(budget=BudgetOptions(max_seconds=50.0), deadline=clock() + 30.0, clock=clock).limits
    assert [limits.cut_seconds(seconds) for seconds in (20.0, 40.0)] == [20.0, 30.0]
    limits.seconds_before = 35.0
    assert limits.cut_seconds(40.0) == 15.0


@pytest.mark.parametrize("heard", [0, 1, 3])
def test_cancel_is_obeyed_at_the_next_chunk(heard: int, make_meter: Make, make_listener: Callable[..., object]) -> None:
    scorer = TableScorer(max_prompt_tokens=100_000)
    meter = make_meter(scorer, listener=make_listener(stop_after=heard))

    with pytest.raises(Stopped) as stopped:
        meter.score(make_prefixes([8000] * 5), make_queries([10]))

    assert stopped.value.reason is StopReason.CANCELLED
    assert scorer.num_calls == heard


def test_progress_is_told_after_each_chunk(make_meter: Make, make_listener: Callable[..., object]) -> None:
    clock, listener = Clock(), make_listener()
    scorer = TableScorer(before_call=clock.advance(4.0), max_prompt_tokens=100_000)
    meter = make_meter(scorer, listener=listener, clock=clock, planned=Cost(6, 48_060))

    meter.enter(Phase.SEARCH, 2, 5)
    meter.score(make_prefixes([8000] * 3), make_queries([10]))

    seen = listener.seen  # type: ignore[attr-defined]
    assert [told.pairs_done for told in seen] == [0, 1, 2, 3]
    assert [told.tokens_done for told in seen] == [0, 8010, 16020, 24030]
    assert {(told.phase, told.step, told.steps, told.pairs_total) for told in seen} == {(Phase.SEARCH, 2, 5, 6)}
    assert [told.tokens_per_second for told in seen] == [None, 2002.5, 2002.5, 2002.5]
    assert [told.eta_seconds for told in seen] == [None, 20.0, 16.0, 12.0]


def test_time_left_is_of_what_a_cache_will_not_have(make_meter: Make, make_listener: Callable[..., object]) -> None:
    clock, listener = Clock(), make_listener()

    class Cached(TableScorer):
        def score(self, *asked: Any) -> LabelLogProbs:
            is_known = self.num_calls < 3  # on a slow disk
            self.pairs_found += is_known
            clock.now += 1.0 if is_known else 10.0
            return super().score(*asked)

    scorer = Cached(max_prompt_tokens=100_000)
    meter = make_meter(scorer, listener=listener, clock=clock, planned=Cost(8, 8 * 8010))
    for phase, number in ((Phase.JUDGE, 4), (Phase.TEST, 1)):
        clock.now += 100.0  # what is between chunks is no part of the pace
        meter.enter(phase, 1, 1)
        meter.score(make_prefixes([8000] * number), make_queries([10]))

    seen = listener.seen  # type: ignore[attr-defined]
    assert [told.eta_seconds for told in seen] == [None] * 4 + [10.0, 10.0, 30.0], "a quarter was new, then all"
    assert [told.tokens_per_second for told in seen[4:]] == [801.0] * 3


def test_states_tell_nothing_of_what_a_cache_has(make_meter: Make) -> None:
    meter = make_meter(StatesTableScorer(), clock=count(step=2.0).__next__)
    meter.pace.end(100, 0)  # found
    meter.states((), make_queries([10]), (1,))
    assert (meter.pace.per_second, meter.pace.time(50)) == (5.0, None)


def test_total_and_time_left_end_at_the_budget(make_meter: Make, make_listener: Callable[..., object]) -> None:
    clock, listener = Clock(), make_listener()
    scorer = TableScorer(before_call=clock.advance(4.0), max_prompt_tokens=100_000)
    budget = BudgetOptions(max_pairs=3, max_seconds=10.0)
    meter = make_meter(scorer, listener=listener, clock=clock, planned=Cost(6, 48_060), budget=budget)

    meter.score(make_prefixes([8000]), make_queries([10]))

    [told] = listener.seen  # type: ignore[attr-defined]
    assert (told.pairs_total, told.tokens_total) == (3, 24_030)
    assert told.eta_seconds == 6.0


def test_scorer_that_lets_nan_through_is_caught(make_meter: Make) -> None:
    class Careless(TableScorer):
        def score(self, prefixes: Sequence[Prefix], queries: Sequence[str], spans: Sequence[str]) -> LabelLogProbs:
            return np.full((len(prefixes), len(queries), len(spans)), np.nan, dtype=np.float32)

    with pytest.raises(NonFiniteScore, match="label word"):
        make_meter(Careless()).score([()], ["a"])


def test_beyond_the_budget_only_a_cancel_stops(make_meter: Make, make_listener: Callable[..., object]) -> None:
    meter = make_meter(listener=make_listener(stop_after=1), budget=BudgetOptions(max_pairs=1))

    with meter.limits.beyond_budget():
        assert meter.score([()], make_queries([10, 10])).shape[1] == 2
        with pytest.raises(Stopped) as stopped:
            meter.score([()], make_queries([10, 10]))

    assert stopped.value.reason is StopReason.CANCELLED
    assert not meter.affords(Cost(pairs=1))


class SeveralHands(ChunkRecorder):
    """Takes chunks until its hands are full, then answers the first of them."""

    def __init__(self, num_workers: int) -> None:
        super().__init__()
        self.num_workers = num_workers
        self.most_at_a_time = 0

    def score_blocks(self, blocks: Iterable[Block], label_spans: Sequence[str]) -> Iterator[LabelLogProbs]:
        source, held = iter(blocks), deque[Block]()
        while True:
            held.extend(islice(source, self.num_workers - len(held)))
            if not held:
                return
            self.most_at_a_time = max(self.most_at_a_time, len(held))
            yield self.score_block(held.popleft(), label_spans)


@pytest.mark.parametrize("num_workers", [1, 2, 5, 100])
def test_several_workers_get_the_same_chunks_and_give_the_same_scores(num_workers: int, make_meter: Make) -> None:
    alone, several = ChunkRecorder(), SeveralHands(num_workers)
    prefixes, queries = make_prefixes([3000, 3000, 9000, 50, 7000, 20]), make_queries([500, 700, 900] * 8)

    expected = make_meter(alone, label_spans=SPANS).score(prefixes, queries)
    found = make_meter(several, label_spans=SPANS).score(prefixes, queries)

    assert np.array_equal(found, expected)
    assert several.chunks == alone.chunks
    assert several.most_at_a_time == min(num_workers, len(alone.chunks))


@pytest.mark.parametrize("num_workers", [1, 3, 100])
@pytest.mark.parametrize("limit", [1, 9, 10, 19, 20, 35, 40])
def test_budget_ends_before_the_same_chunk_for_any_number_of_workers(
    limit: int, num_workers: int, make_meter: Make, make_listener: Callable[..., object]
) -> None:
    scorer, listener = SeveralHands(num_workers), make_listener()
    meter = make_meter(scorer, budget=BudgetOptions(max_pairs=limit), listener=listener)

    with pytest.raises(Stopped) if limit < 40 else nullcontext() as stopped:
        meter.score(make_prefixes([7000] * 4), make_queries([10] * 10))  # a chunk for each prefix

    assert stopped is None or stopped.value.reason is StopReason.BUDGET
    assert meter.spent.pairs == scorer.num_pairs == limit // 10 * 10
    told = [progress.pairs_done for progress in listener.seen]  # type: ignore[attr-defined]
    assert told == list(range(10, limit + 1, 10)), "counted as they are done, not as they are handed out"


def test_stop_finishes_and_counts_chunks_under_way(make_meter: Make, make_listener: Callable[..., object]) -> None:
    scorer = SeveralHands(3)
    meter = make_meter(scorer, listener=make_listener(stop_after=2))

    with pytest.raises(Stopped) as stopped:
        meter.score(make_prefixes([8000] * 9), make_queries([10]))

    assert stopped.value.reason is StopReason.CANCELLED
    assert meter.spent.pairs == scorer.num_pairs == 4, "two told of, and two more in hand by then"


def test_time_of_chunks_under_way_counts_against_the_limit(make_meter: Make) -> None:
    clock, scorer = Clock(), SeveralHands(4)
    meter = make_meter(scorer, budget=BudgetOptions(max_seconds=10.0), clock=clock)
    meter.pace.start()
    clock.now += 6.0  # past the half in which no pace is trusted
    meter.pace.end(12_000, 12_000)  # 2,000 tokens a second: four seconds are 8,000

    with pytest.raises(Stopped):
        meter.score(make_prefixes([5000] * 4), make_queries([10]))

    assert scorer.num_pairs == 1


class SlowChunks(TableScorer):
    """Takes 30 seconds for a chunk of 8,010 tokens, and hears of a stop after each second."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(max_prompt_tokens=100_000)
        self._clock = clock

    def score(self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]) -> LabelLogProbs:
        for _ in range(30):
            self._clock.now += 1.0
            self.feed(267)
            look_up()
        return super().score(prefixes, queries, label_spans)

    def feed(self, tokens: int) -> None:
        """Of a scorer that counts what it feeds."""


class CountedChunks(SlowChunks):
    """Counts its tokens after forwards of five seconds."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.counters = SimpleNamespace(fed_tokens=0)
        self._fed = 0

    def feed(self, tokens: int) -> None:
        self._fed += tokens
        if self._fed % (5 * tokens) == 0:
            self.counters.fed_tokens = self._fed


@pytest.mark.parametrize("kind", [SlowChunks, CountedChunks])
def test_chunk_that_fits_with_the_reserve_is_not_stopped_halfway(
    kind: type[SlowChunks], make_meter: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lens_engine.model.limits._SECONDS", 0.0)
    clock = Clock()
    budget = BudgetOptions(max_seconds=100.0)
    meter = make_meter(kind(clock), budget=budget, reserve=Cost(tokens=8010), clock=clock)

    with pytest.raises(Stopped):
        meter.score(make_prefixes([8000] * 5), make_queries([10]))

    assert (meter.spent.pairs, meter.limits.seconds) == (2, 60.0)
