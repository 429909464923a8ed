from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lens_engine import estimate_cost
from lens_engine.errors import ClassTooSmall, PromptTooLong
from lens_engine.metering.estimate import CountingScorer, measure_pace
from lens_engine.metering.prices import CHUNK_TOKENS, Cost
from lens_engine.model.base import Block
from lens_engine.model.score_cache import PairCache, RememberingScorer
from lens_engine.presets import PRESETS
from lens_engine.rows.dealing import deal_rows
from lens_engine.rows.problem import Problem
from lens_engine.run.preparation import prepare_run, price_run
from lens_engine.run.suggest import price_suggestion, suggest_for_rows
from lens_engine.testing import StatesTableScorer, TableScorer
from lens_engine.types import Example, LabelLogProbs, Phase
from tests.unit.lens_engine.metering.test_meter import SPANS, ChunkRecorder, Clock, make_prefixes, make_queries

Make = Callable[..., Any]


CALLS = 5
"""Calls of a scorer too fast for the first sample: one that is not timed, and two samples."""


def test_estimate_is_of_rows_that_fit(make_planted_problem: Make, make_planted_scorer: Any, make_config: Make) -> None:
    usual = make_planted_problem()
    padded = [replace(e, text=f"{e.text} and so on") if e.row % 20 < 2 else e for e in usual.examples]
    scorer = make_planted_scorer(max_prompt_tokens=46)  # a label word, special tokens, and eight a segment, not ten

    estimate = estimate_cost(Problem(usual.task, padded), scorer, make_config())

    assert estimate.phases == estimate_cost(usual, make_planted_scorer(), make_config()).phases | {
        phase: replace(cost, tokens=estimate.phases[phase].tokens, prompt_tokens=estimate.phases[phase].prompt_tokens)
        for phase, cost in estimate.phases.items()
    }


def test_what_no_run_takes_is_refused(make_planted_problem: Make, make_planted_scorer: Any, make_config: Make) -> None:
    with pytest.raises(ClassTooSmall):
        estimate_cost(
            Problem(make_planted_problem().task, make_planted_problem().examples[:2]),
            make_planted_scorer(),
            make_config(),
        )
    with pytest.raises(PromptTooLong):
        estimate_cost(make_planted_problem(), make_planted_scorer(max_prompt_tokens=20), make_config())


def test_pace_is_the_best_of_three_calls_after_the_first(make_planted_problem: Make, make_config: Make) -> None:
    problem, clock = make_planted_problem(), Clock()

    def pass_time(call: int) -> None:
        clock.now += (100.0, 5.0, 2.0, 30.0)[call]

    scorer = TableScorer(before_call=pass_time)
    rows = deal_rows(problem, make_config())

    pace = measure_pace(rows, problem.task, scorer, clock)

    (first, few, _), (prefixes, queries, _), *others = scorer.calls
    assert len(others) == 2
    assert first * few < prefixes * queries
    # A demonstration has seven words ("day0 rainy quality9 difficulty9 It was NEGATIVE."), a query six.
    assert pace == prefixes * (7 + 6 * queries) / 2.0
    assert clock.now == 1137.0


def test_pace_is_measured_and_not_remembered(make_planted_problem: Make, make_config: Make, tmp_path: Path) -> None:
    problem, scorer = make_planted_problem(), TableScorer()
    rows, cache = deal_rows(problem, make_config()), PairCache(tmp_path / "pairs.sqlite3", 1 << 20)

    for _ in range(2):
        measure_pace(rows, problem.task, RememberingScorer(scorer, cache, ()))

    assert scorer.num_calls == 2 * CALLS


@pytest.mark.parametrize(("seconds", "num_calls"), [(100.0, 2), (0.9, 4), (0.5, 5), (0.01, 5)])
def test_slow_model_is_measured_on_a_small_sample_and_a_fast_one_on_a_larger(
    seconds: float, num_calls: int, make_planted_problem: Make, make_config: Make
) -> None:
    """`seconds`: time of the first sample, which has some 1,024 tokens."""
    problem, clock = make_planted_problem(4000), Clock()

    def pass_time(call: int) -> None:
        clock.now += seconds if 1 <= call <= 3 else 0.0

    scorer = TableScorer(before_call=pass_time)
    rows = deal_rows(problem, make_config(rows={"search": 400}))

    measure_pace(rows, problem.task, scorer, clock)

    assert scorer.num_calls == num_calls
    sizes = [prefixes * queries for prefixes, queries, _ in scorer.calls]
    assert sizes[1] * 6.5 == pytest.approx(1024, rel=0.2)
    if num_calls == 5:
        assert sizes[4] * 6.5 == pytest.approx(min(2.0 / seconds, 8) * 1024, rel=0.2)


def test_pace_of_a_clock_that_stands_still_is_unknown(make_planted_problem: Make, make_config: Make) -> None:
    problem = make_planted_problem()
    rows = deal_rows(problem, make_config())
    assert measure_pace(rows, problem.task, TableScorer(), Clock()) is None


def test_pace_of_several_workers_is_that_of_all_of_them(make_planted_problem: Make, make_config: Make) -> None:
    class Both(TableScorer):
        """Two workers that score at the same time: every second block takes none."""

        num_workers = 2

        def score_blocks(self, blocks: Iterable[Block], label_spans: Sequence[str]) -> Iterator[LabelLogProbs]:
            return (self.score(block.prefixes, block.queries, label_spans) for block in blocks)

    def move(call: int) -> None:
        clock.now += float(call % 2)

    problem, clock = make_planted_problem(), Clock()
    rows = deal_rows(problem, make_config())

    alone = measure_pace(rows, problem.task, TableScorer(before_call=move), clock)
    both = measure_pace(rows, problem.task, Both(before_call=move), clock)

    assert alone is not None
    assert both == 2 * alone


@pytest.mark.parametrize("known", [TableScorer(), StatesTableScorer()], ids=["labels", "states"])
def test_price_is_that_of_a_model_that_counts_alike(known: TableScorer) -> None:
    rows = [Example(row, f"a film of part {row}", ("good", "bad")[row % 2]) for row in range(120)]
    counting = CountingScorer("small", known.count_tokens, num_layers=getattr(known, "num_layers", 0))
    priced, expected = (price_suggestion(suggest_for_rows(rows), one, lambda *_: 100.0) for one in (counting, known))
    assert priced.plans == expected.plans
    rows_judged = prepare_run(suggest_for_rows(rows).problem, known, PRESETS["quick"])
    prices, usual = price_run(rows_judged.setup), priced.plans[0].usual_tokens
    assert usual == sum(cost.tokens for cost in prices.values()) - prices[Phase.JUDGE].tokens // 2
    assert priced.plans[0].seconds == usual / 100


@settings(deadline=None)
@given(pairs=st.lists(st.tuples(st.integers(0, 6000), st.integers(1, 3000)), max_size=20))
def test_chunks_have_each_pair_once_in_order_within_tokens(make_meter: Make, pairs: list[tuple[int, int]]) -> None:
    scorer = ChunkRecorder()
    meter = make_meter(scorer, label_spans=SPANS)
    lengths = [[one[side] for one in pairs] for side in (0, 1)]
    prefixes, queries = make_prefixes(lengths[0]), make_queries(lengths[1])

    scores = meter.score_pairs(prefixes, queries)

    assert [prefix for chunk, _ in scorer.chunks for prefix in chunk] == prefixes
    assert [query for _, columns in scorer.chunks for query in columns] == queries
    assert scores.shape == (len(pairs), 2)
    assert scores[:, 0].tolist() == [-sum(one) for one in pairs]
    tokens = sum(map(sum, pairs))
    assert meter.spent == Cost(len(pairs), tokens)
    assert (meter.spent.prompt_tokens, meter.spent.prefixes) == (tokens, len(pairs))
    for chunk, columns in scorer.chunks:
        asked = sum(len(prefix[0].split()) + len(query.split()) for prefix, query in zip(chunk, columns, strict=True))
        assert asked <= CHUNK_TOKENS["cpu"] or len(chunk) == 1
