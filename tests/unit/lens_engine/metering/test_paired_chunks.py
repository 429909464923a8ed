"""Each query after its own prefix, by the meter: chunks, costs, budgets, resuming."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lens_engine.config import BudgetOptions
from lens_engine.errors import NonFiniteScore
from lens_engine.metering.chunks import CHUNK_TOKENS
from lens_engine.metering.limits import Stopped
from lens_engine.metering.meter import Meter
from lens_engine.metering.prices import Cost
from lens_engine.testing import TableScorer
from lens_engine.types import LabelLogProbs, StopReason
from tests.unit.lens_engine.metering.test_meter import SPANS, ChunkRecorder, SeveralHands, make_prefixes, make_queries

MakeMeter = Callable[..., Meter]
PREFIXES, QUERIES = make_prefixes([0, 7000, 20, 3000, 3000, 9000, 4]), make_queries([9, 5, 400, 20, 5, 3, 2])


@settings(deadline=None)
@given(pairs=st.lists(st.tuples(st.integers(0, 6000), st.integers(1, 3000)), max_size=20))
def test_chunks_have_every_pair_once_in_order_and_stay_within_their_tokens(
    make_meter: MakeMeter, pairs: list[tuple[int, int]]
) -> None:
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


@pytest.mark.parametrize("num_workers", [1, 2, 100])
@pytest.mark.parametrize("limit", [2, 3, 4, 6, 7])
def test_budget_ends_before_the_same_chunk_for_any_number_of_workers(
    limit: int, num_workers: int, make_meter: MakeMeter, make_listener: Callable[..., object]
) -> None:
    scorer, listener = SeveralHands(num_workers), make_listener()
    meter = make_meter(scorer, budget=BudgetOptions(max_pairs=limit), listener=listener)
    ends = [3, 5, 6, 7]  # pairs done after each chunk

    with pytest.raises(Stopped) if limit < 7 else nullcontext() as stopped:
        meter.score_pairs(PREFIXES, QUERIES)

    assert stopped is None or stopped.value.reason is StopReason.BUDGET
    done = [end for end in ends if end <= limit]
    assert [progress.pairs_done for progress in listener.seen] == done  # type: ignore[attr-defined]
    assert meter.spent.pairs == scorer.num_pairs == max(done, default=0)


def test_pair_with_a_nan_is_named(make_meter: MakeMeter) -> None:
    class Careless(TableScorer):
        def score_pairs(self, *asked: Any) -> LabelLogProbs:
            scores = super().score_pairs(*asked)
            scores[1] = np.nan
            return scores

    with pytest.raises(NonFiniteScore, match=r"label word ' no' \(pair 1\)"):
        make_meter(Careless(), label_spans=SPANS).score_pairs([(), ()], ["a", "b"])
