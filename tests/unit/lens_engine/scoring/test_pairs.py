"""Each query after its own prefix, by scorers of every kind."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from lens_engine.cluster.scorer import ScoringActor, Setup
from lens_engine.errors import PromptTooLong
from lens_engine.scoring.base import (
    Block,
    LabelScorer,
    PairScorer,
    ParallelScorer,
    Prefix,
    ScorerIdentity,
    score_block,
    score_blocks,
    score_pairs,
)
from lens_engine.scoring.cache.scorer import PairCache, RememberingScorer
from lens_engine.testing import TableScorer, hashed_log_prob
from lens_engine.types import LabelLogProbs

SPANS = (" no", " yes")
PREFIXES: list[Prefix] = [(), ("one demonstration.",), ("two.", "demonstrations.")]
QUERIES = ["a query", "another", "and a third"]
EXPECTED = np.array(
    [[hashed_log_prob(*pair, span) for span in SPANS] for pair in zip(PREFIXES, QUERIES, strict=True)], np.float32
)
PAIRED = Block(tuple(PREFIXES), tuple(QUERIES), is_paired=True)
CROSSED = Block(tuple(PREFIXES), tuple(QUERIES))


class Plain:
    """A scorer that knows every prefix with every query alone."""

    def __init__(self) -> None:
        self.table = TableScorer()

    @property
    def identity(self) -> ScorerIdentity:
        return self.table.identity

    @property
    def max_prompt_tokens(self) -> int:
        return self.table.max_prompt_tokens

    def count_tokens(self, segments: Sequence[str]) -> list[int]:
        return self.table.count_tokens(segments)

    def encode_label_spans(self, label_spans: Sequence[str]) -> Sequence[tuple[int | str, ...]]:
        return self.table.encode_label_spans(label_spans)

    def score(self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]) -> LabelLogProbs:
        return self.table.score(prefixes, queries, label_spans)


class Workers(Plain):
    """Two workers, of which each scores a block."""

    num_workers = 2

    def score_blocks(self, blocks: Iterable[Block], label_spans: Sequence[str]) -> Iterator[LabelLogProbs]:
        waiting = deque[Block]()
        for block in blocks:
            waiting.append(block)
            if len(waiting) == self.num_workers:
                yield score_block(self.table, waiting.popleft(), label_spans)
        for block in waiting:
            yield score_block(self.table, block, label_spans)


def test_paired_block_has_as_many_prefixes_as_queries() -> None:
    with pytest.raises(ValueError, match="3 queries have 2 prefixes; each needs its own"):
        Block(PAIRED.prefixes[:2], PAIRED.queries, is_paired=True)

    assert (PAIRED.shape, PAIRED.num_pairs) == ((1, 3), 3)
    assert (CROSSED.shape, CROSSED.num_pairs) == ((3, 3), 9)


@pytest.mark.parametrize(
    ("scorer", "calls"),
    [(TableScorer(), [(1, 3, 2)]), (Plain(), [(1, 1, 2)] * 3), (Workers(), [(1, 3, 2)])],
    ids=["pairs", "one by one", "workers"],
)
def test_each_query_is_scored_after_its_own_prefix(scorer: LabelScorer, calls: list[tuple[int, int, int]]) -> None:
    table = scorer if isinstance(scorer, TableScorer) else scorer.table  # type: ignore[attr-defined]

    assert np.array_equal(score_pairs(scorer, PREFIXES, QUERIES, SPANS), EXPECTED)
    assert table.calls == calls
    assert score_pairs(scorer, [], [], SPANS).shape == (0, 2)
    assert isinstance(scorer, PairScorer) == isinstance(scorer, TableScorer)


def test_workers_take_paired_blocks_among_others() -> None:
    scorer = Workers()

    scores = list(score_blocks(scorer, [PAIRED, CROSSED, PAIRED], SPANS))

    assert isinstance(scorer, ParallelScorer)
    assert [one.shape for one in scores] == [(1, 3, 2), (3, 3, 2), (1, 3, 2)]
    assert np.array_equal(scores[0][0], EXPECTED)
    assert np.array_equal(scores[1][range(3), range(3)], EXPECTED)


@pytest.mark.parametrize("first", [PAIRED, CROSSED])
def test_paired_block_is_found_again_and_is_no_other(first: Block, tmp_path: Path) -> None:
    table = TableScorer()
    scorer = RememberingScorer(table, PairCache(tmp_path / "pairs.sqlite3", 1 << 20), ("here",))

    (computed,) = score_blocks(scorer, [first], SPANS)
    found, other = score_blocks(scorer, [first, CROSSED if first is PAIRED else PAIRED], SPANS)

    assert found.tobytes() == computed.tobytes()
    assert (table.num_calls, scorer.pairs_found) == (2, first.num_pairs)
    assert found.shape != other.shape
    if first is PAIRED:
        assert np.array_equal(score_pairs(scorer, PREFIXES, QUERIES, SPANS), EXPECTED)
        assert table.num_calls == 2


def test_actor_scores_paired_blocks() -> None:
    class Loaded(TableScorer):
        token_budget, surroundings, num_layers = 512, (), 0

    actor = ScoringActor()
    actor._make_scorer = lambda _: Loaded()  # type: ignore[method-assign]

    assert np.array_equal(actor.score(Setup({}), PAIRED, SPANS, 256)[0], EXPECTED[np.newaxis])


def test_longest_pair_is_refused_and_not_the_longest_prefix_with_the_longest_query() -> None:
    scorer = TableScorer(max_prompt_tokens=8)
    prefixes, queries = [("a b c d e",), ("a",)], ["a", "a b c d e"]

    assert scorer.score_pairs(prefixes, queries, SPANS).shape == (2, 2)
    with pytest.raises(PromptTooLong, match=r"a prompt of 9 tokens \(prefix 1: 3, query 1: 5, label word: 1\) exceeds"):
        scorer.score_pairs([prefixes[0], ("a b c",)], queries, SPANS)
