"""The meter of a run that pays: it stops before a chunk or a request that the limit does not cover."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from lens_engine.config import BudgetOptions
from lens_engine.errors import BudgetSpent
from lens_engine.metering.chunks import ChunkCutter
from lens_engine.metering.limits import Stopped
from lens_engine.metering.prices import Cost
from lens_engine.model.base import Prefix
from lens_engine.model.spending import Bill, Paid, Spending, TokenPrices
from lens_engine.testing import TableScorer
from lens_engine.types import LabelLogProbs, StopReason

Make = Callable[..., Any]


USD_A_TOKEN = 0.001
QUERIES = [f"query {number}" for number in range(10)]
PROMPT_TOKENS = 5  # of a prefix and a query below
WORDY = 4_200
"""Words of a prefix of which a chunk has one."""


class PaidTable(TableScorer):
    """A scorer with known answers. A server would be paid for each prompt; `discount` is that of its cache."""

    def __init__(self, discount: float = 0.0) -> None:
        super().__init__(max_prompt_tokens=100_000)
        self.spending = Spending(TokenPrices(input=1e6 * USD_A_TOKEN, output=0.0))
        self._discount = discount

    def bill(self, pairs: int, prompt_tokens: int, label_spans: Sequence[str], prefixes: int = 1) -> Bill:  # noqa: ARG002
        return Bill(pairs, prompt_tokens, prompt_tokens * USD_A_TOKEN)

    def score(self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]) -> LabelLogProbs:
        self._pay(sum(len(" ".join((*prefix, query)).split()) for prefix in prefixes for query in queries))
        return super().score(prefixes, queries, label_spans)

    def score_pairs(
        self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]
    ) -> LabelLogProbs:
        pairs = zip(prefixes, queries, strict=True)
        self._pay(sum(len(" ".join((*prefix, query)).split()) for prefix, query in pairs))
        return super().score_pairs(prefixes, queries, label_spans)

    def _pay(self, tokens: int) -> None:
        self.spending.reserve(tokens * USD_A_TOKEN)
        counted = {"prompt_tokens": round(tokens * (1 - self._discount)), "completion_tokens": 0}
        self.spending.settle(tokens * USD_A_TOKEN, counted, is_paid=True)


def make_prefixes(count: int) -> list[Prefix]:
    return [(f"one two p{number}",) for number in range(count)]


def wordy_prefixes(count: int) -> list[Prefix]:
    return [(" ".join([f"p{number}"] * WORDY),) for number in range(count)]


def limit(usd: float | None) -> BudgetOptions:
    return BudgetOptions(max_cost=usd)


def test_run_says_what_it_paid_and_not_what_others_paid(make_meter: Make) -> None:
    scorer = PaidTable()
    make_meter(scorer).score(make_prefixes(1), QUERIES)
    meter = make_meter(scorer)
    meter.limits.money.resume(Paid(1.0, 2, 3, 1))
    meter.score(make_prefixes(2), QUERIES)
    tokens = 2 * 10 * PROMPT_TOKENS
    assert meter.limits.money.paid == Paid(pytest.approx(1.0 + tokens * USD_A_TOKEN), 3, 3 + tokens, 1)


@pytest.mark.parametrize("is_paired", [False, True])
def test_run_stops_before_a_chunk_that_the_limit_does_not_cover(is_paired: bool, make_meter: Make) -> None:
    scorer, chunk = PaidTable(), (WORDY + 2) * USD_A_TOKEN
    meter = make_meter(scorer, budget=limit(2.5 * chunk))
    ask, queries = (meter.score_pairs, QUERIES[:4]) if is_paired else (meter.score, QUERIES[:1])
    with pytest.raises(Stopped) as stopped:
        ask(wordy_prefixes(4), queries)
    assert stopped.value.reason is StopReason.BUDGET
    assert (scorer.num_calls, meter.spent.pairs) == (2, 2)


def test_what_the_cache_of_the_server_saves_is_left_for_more_chunks(make_meter: Make) -> None:
    scorer, chunk = PaidTable(discount=0.5), (WORDY + 2) * USD_A_TOKEN
    with pytest.raises(Stopped):
        make_meter(scorer, budget=limit(2.5 * chunk)).score(wordy_prefixes(6), QUERIES[:1])
    assert scorer.num_calls == 4


def test_reserve_is_kept_with_room_for_longer_prompts(make_meter: Make) -> None:
    cost = Cost(pairs=1, prompt_tokens=100)
    meter = make_meter(PaidTable(), budget=limit(0.251), reserve=cost)
    assert meter.affords(cost)
    meter.limits.reserve = Cost(pairs=1, prompt_tokens=101)
    assert not meter.affords(cost)
    with meter.limits.beyond_budget():
        assert meter.affords(cost)


def test_requests_that_wait_count_as_spent(make_meter: Make) -> None:
    scorer = PaidTable()
    meter = make_meter(scorer, budget=limit(0.1))
    assert meter.affords(Cost(pairs=1, prompt_tokens=100))
    scorer.spending.ahead = 0.05
    assert not meter.affords(Cost(pairs=1, prompt_tokens=100))


class Surprising(PaidTable):
    """Its prompts are longer than it says."""

    def bill(self, pairs: int, prompt_tokens: int, label_spans: Sequence[str], prefixes: int = 1) -> Bill:
        return super().bill(pairs, prompt_tokens // 2, label_spans, prefixes)


def test_request_that_the_limit_does_not_cover_stops_the_run(make_meter: Make) -> None:
    scorer = Surprising()
    meter = make_meter(scorer, budget=limit(0.045))
    with pytest.raises(Stopped) as stopped:
        meter.score(make_prefixes(1), QUERIES)
    assert stopped.value.reason is StopReason.BUDGET
    assert isinstance(stopped.value.__cause__, BudgetSpent)
    assert (scorer.num_calls, scorer.spending.limit) == (0, None)


def test_money_of_earlier_attempts_is_spent(make_meter: Make) -> None:
    meter = make_meter(PaidTable(), budget=limit(0.1))
    meter.limits.money.resume(Paid(usd=0.06))
    assert meter.affords(Cost(pairs=1, prompt_tokens=39))
    assert not meter.affords(Cost(pairs=1, prompt_tokens=41))
    with pytest.raises(Stopped):
        meter.score(make_prefixes(1), QUERIES)


class HalfKnown(PaidTable):
    """Half of the answers are on disk."""

    pairs_found = 0

    def score(self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]) -> LabelLogProbs:
        self.pairs_found += len(prefixes) * len(queries) // 2
        return super().score(prefixes, queries, label_spans)


def test_pace_leaves_out_the_pairs_that_were_found_alone(make_meter: Make) -> None:
    scorer = HalfKnown()
    meter = make_meter(scorer, clock=lambda: 10.0 * scorer.num_calls)
    meter.score(make_prefixes(2), QUERIES)
    assert meter.pace.per_second == meter.spent.tokens / 2 / 10


def test_chunk_counts_each_prefix_with_each_query() -> None:
    chunks = ChunkCutter(lambda segment: len(segment.split()), "endpoint").cut(make_prefixes(3), QUERIES)
    cost = sum((chunk.cost for chunk in chunks), Cost())
    assert (cost.prompt_tokens, cost.prefixes) == (3 * 10 * PROMPT_TOKENS, 3)
