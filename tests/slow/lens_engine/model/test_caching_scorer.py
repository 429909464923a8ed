"""A scorer with a pair cache: what is found again, what makes another key, and that results do not depend on it."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lens_engine.errors import InvalidVerbalizer, NonFiniteScore
from lens_engine.metering import chunks
from lens_engine.model.base import Block, LabelScorer, Prefix, ScorerIdentity
from lens_engine.model.score_cache import PairCache, RememberingScorer, remember_pairs
from lens_engine.result import SelectionResult
from lens_engine.run.pipeline import select_support_examples
from lens_engine.run.state import MemoryCheckpointStore
from lens_engine.testing import TableScorer
from lens_engine.types import LabelLogProbs
from tests.delegating import Delegating

Make = Callable[..., Any]
SPANS = (" good", " bad")
PREFIXES: list[Prefix] = [(), ("one demonstration.",), ("two.", "demonstrations.")]
QUERIES = ["a query", "another"]


class Disguise(Delegating):
    """A scorer that gives itself out for another, and may become a third while it computes."""

    def __init__(self, scorer: LabelScorer, **changes: Any) -> None:
        super().__init__(scorer)
        self.changes = changes
        self.becomes: dict[str, Any] = {}
        self.demonstrations = set[int]()  #: of the prefixes it was asked for

    @property
    def identity(self) -> ScorerIdentity:
        return replace(super().identity, **self.changes)

    def score(self, prefixes: Sequence[Prefix], queries: Sequence[str], label_spans: Sequence[str]) -> LabelLogProbs:
        self.changes |= self.becomes
        self.demonstrations.update(map(len, prefixes))
        return self.scorer.score(prefixes, queries, label_spans)


class TwoAtOnce(Disguise):
    """Takes two blocks before it gives back the first."""

    num_workers = 2

    def __init__(self, scorer: LabelScorer, **changes: Any) -> None:
        super().__init__(scorer, **changes)
        self.stretches = list[int]()

    def score_blocks(self, blocks: Iterable[Block], label_spans: Sequence[str]) -> Iterator[LabelLogProbs]:
        self.stretches.append(0)
        source = iter(blocks)
        waiting = list(islice(source, self.num_workers))
        while waiting:
            self.stretches[-1] += 1
            yield self.score_block(waiting.pop(0), label_spans)
            waiting.extend(islice(source, 1))


@pytest.fixture
def cache(tmp_path: Path) -> PairCache:
    return PairCache(tmp_path / "pairs.sqlite3", 4 << 20)


@pytest.fixture
def remember(cache: PairCache) -> Callable[..., RememberingScorer]:
    def make(scorer: LabelScorer) -> RememberingScorer:
        return RememberingScorer(scorer, cache, ("here",))

    return make


def test_block_is_computed_once_and_found_afterwards(remember: Make) -> None:
    scorer = TableScorer()
    first, second = remember(scorer), remember(scorer)

    computed, found = first.score(PREFIXES, QUERIES, SPANS), second.score(PREFIXES, QUERIES, SPANS)

    assert scorer.num_calls == 1
    assert found.tobytes() == computed.tobytes() == TableScorer().score(PREFIXES, QUERIES, SPANS).tobytes()
    assert (first.pairs_found, second.pairs_found) == (0, 6)


def test_remembering_scorer_is_the_one_beneath_to_the_engine(remember: Make) -> None:
    scorer = TableScorer(max_prompt_tokens=99)
    remembering = remember(scorer)
    assert remembering.identity == scorer.identity
    assert remembering.max_prompt_tokens == 99
    assert remembering.count_tokens(["two words", ""]) == [2, 0]
    assert remembering.computing is scorer
    assert remembering.num_workers == 1
    assert remember(TwoAtOnce(scorer)).num_workers == 2


@pytest.mark.parametrize(
    ("prefixes", "queries", "spans"),
    [
        (PREFIXES[:2], QUERIES, SPANS),
        (PREFIXES[::-1], QUERIES, SPANS),
        ([(), ("one demonstration.",), ("two.demonstrations.",)], QUERIES, SPANS),
        ([(), ("one demonstration.", "two."), ("demonstrations.",)], QUERIES, SPANS),
        (PREFIXES, QUERIES[:1], SPANS),
        (PREFIXES, QUERIES[::-1], SPANS),
        (PREFIXES, ["a query", "another "], SPANS),
        (PREFIXES, QUERIES, SPANS[::-1]),
        (PREFIXES, QUERIES, (" good", "bad")),
        (PREFIXES, QUERIES, (*SPANS, " so-so")),
    ],
)
def test_other_texts_are_computed(
    prefixes: list[Prefix], queries: list[str], spans: tuple[str, ...], remember: Make
) -> None:
    scorer = TableScorer()
    remember(scorer).score(PREFIXES, QUERIES, SPANS)

    scores = remember(scorer).score(prefixes, queries, spans)

    assert scorer.num_calls == 2
    assert np.array_equal(scores, TableScorer().score(prefixes, queries, spans))


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(ScorerIdentity)])
def test_all_of_the_identity_but_the_name_and_the_note_makes_another_key(field: str, remember: Make) -> None:
    scorer = TableScorer()
    remember(scorer).score(PREFIXES, QUERIES, SPANS)

    other = remember(Disguise(scorer, **{field: 512 if field == "token_budget" else "other"}))
    other.score(PREFIXES, QUERIES, SPANS)

    assert scorer.num_calls == (1 if field in ("model", "executor_note") else 2)


def test_texts_no_encoding_knows_can_be_looked_up(remember: Make) -> None:
    scorer = TableScorer()
    for _ in range(2):
        remember(scorer).score([("\ud800 half a character",)], ["\udfff"], SPANS)
    assert scorer.num_calls == 1


def test_model_of_unknown_revision_is_not_remembered(remember: Make) -> None:
    scorer = TableScorer()
    for _ in range(2):
        remember(Disguise(scorer, revision="unknown")).score(PREFIXES, QUERIES, SPANS)
    assert scorer.num_calls == 2


def test_block_during_which_the_budget_was_halved_is_not_kept(remember: Make) -> None:
    scorer = Disguise(TableScorer(), token_budget=1024)
    scorer.becomes = {"token_budget": 512}
    remember(scorer).score(PREFIXES, QUERIES, SPANS)

    for budget in (1024, 512):
        again = remember(Disguise(TableScorer(), token_budget=budget))
        again.score(PREFIXES, QUERIES, SPANS)
        assert again.pairs_found == 0
        again.score(PREFIXES, QUERIES, SPANS)
        assert again.pairs_found == 6


def test_block_found_before_the_budget_was_halved_is_computed(remember: Make) -> None:
    """As with workers, which take blocks ahead of the one that runs out of memory."""
    ahead, behind = Block(((),), ("computed",)), Block(((),), ("found",))
    remember(Disguise(TableScorer(), token_budget=1024)).score(behind.prefixes, behind.queries, SPANS)
    workers = TwoAtOnce(TableScorer(lambda *_: -1.0), token_budget=1024)
    workers.becomes = {"token_budget": 512}

    remembering = remember(workers)
    answers = list(remembering.score_blocks([ahead, behind], SPANS))

    assert [answer.tolist() for answer in answers] == [[[[-1.0, -1.0]]]] * 2
    assert remembering.pairs_found == 0


def test_pairs_are_remembered_in_the_cache_folder_by_the_surroundings_of_where_they_are_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LENS_CACHE_DIR", str(tmp_path))
    scorer = TableScorer()
    for surroundings in (("threads 2",), ("threads 3",), ("threads 2", "more"), ("threads 2",)):
        elsewhere = Disguise(scorer)
        elsewhere.surroundings = surroundings
        remember_pairs(elsewhere).score(PREFIXES, QUERIES, SPANS)
    assert scorer.num_calls == 3
    assert (tmp_path / "pairs.sqlite3").is_file()


def test_refusals_of_the_scorer_come_through_and_are_not_kept(remember: Make) -> None:
    broken = remember(TableScorer(lambda *_: float("nan")))
    for _ in range(2):
        with pytest.raises(NonFiniteScore):
            broken.score(PREFIXES, QUERIES, SPANS)
        with pytest.raises(InvalidVerbalizer):
            broken.score(PREFIXES, QUERIES, (" same", " same"))
    assert broken.pairs_found == 0


@pytest.mark.parametrize("known", [(), (0,), (0, 1, 2, 3, 4), (0, 1, 4), (1, 3)])
def test_blocks_come_in_order_and_only_missing_ones_reach_the_workers(known: tuple[int, ...], remember: Make) -> None:
    blocks = [Block((("demonstration",),), (f"query {number}",)) for number in range(5)]
    for number in known:
        remember(TableScorer()).score(blocks[number].prefixes, blocks[number].queries, SPANS)
    table = TableScorer()
    workers = TwoAtOnce(table)
    remembering = remember(workers)

    answers = list(remembering.score_blocks(iter(blocks), SPANS))

    expected = [TableScorer().score(block.prefixes, block.queries, SPANS) for block in blocks]
    assert all(np.array_equal(answer, right) for answer, right in zip(answers, expected, strict=True))
    assert table.num_calls == sum(workers.stretches) == 5 - len(known)
    assert remembering.pairs_found == len(known)
    if not known:
        assert workers.stretches == [5], "all at once"


def test_run_counts_what_it_found_and_measures_the_pace_of_the_rest(remember: Make, make_meter: Make) -> None:
    seconds = [0.0]

    def pass_time(_: int) -> None:
        seconds[0] += 2.0

    scorer = remember(TableScorer(before_call=pass_time))
    make_meter(scorer).score([()], ["six words that are known already"])
    seconds[0] = 0.0
    meter = make_meter(scorer, clock=lambda: seconds[0])

    meter.score([()], ["six words that are known already"])
    assert (meter.spent.pairs, meter.spent.tokens, meter.pairs_from_cache) == (1, 6, 1)
    assert meter.pace.per_second is None

    meter.score([()], ["four words to compute"])
    assert (meter.spent.pairs, meter.spent.tokens, meter.pairs_from_cache) == (2, 10, 1)
    assert meter.pace.per_second == 4 / 2.0


@pytest.fixture
def select(make_planted_problem: Make, make_config: Make) -> Callable[..., SelectionResult]:
    def run(scorer: LabelScorer, checkpoints: Any = None, **options: Any) -> SelectionResult:
        return select_support_examples(make_planted_problem(), scorer, make_config(**options), checkpoints=checkpoints)

    return run


def test_second_run_computes_nothing_and_is_the_same(select: Make, remember: Make, make_planted_scorer: Make) -> None:
    first = select(remember(make_planted_scorer()))
    scorer = make_planted_scorer()

    second = select(remember(scorer))

    assert scorer.num_pairs == 0
    assert second.digest == first.digest == select(make_planted_scorer()).digest
    assert (first.cost.pairs_from_cache, second.cost.pairs_from_cache) == (0, first.cost.pairs)
    assert second.cost.pairs == first.cost.pairs


@pytest.mark.parametrize(
    "change",
    [{"diversity_weight": 0.1}, {"beam_width": 5}, {"children": 5}, {"iterations": 2}],
    ids=lambda change: next(iter(change)),
)
def test_sweeps_share_stage_one(
    change: dict[str, Any], select: Make, remember: Make, make_planted_scorer: Make
) -> None:
    first, second = Disguise(make_planted_scorer()), Disguise(make_planted_scorer())
    select(remember(first))

    swept = select(remember(second), search=change)

    alone = select(make_planted_scorer(), search=change)
    assert swept.digest == alone.digest
    assert swept.cost.pairs == alone.cost.pairs
    assert first.demonstrations == {0, 1, 4, 32, 64}
    assert second.demonstrations <= {0, 4, 32, 64}, "one demonstration is what stage 1 scores"
    assert second.scorer.num_pairs == swept.cost.pairs - swept.cost.pairs_from_cache


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_run_that_was_killed_within_a_step_resumes_with_the_same_digest_and_scores_no_pair_again(
    share: float, select: Make, remember: Make, make_planted_scorer: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_TOKENS", {"cpu": 600})
    first, store = make_planted_scorer(), MemoryCheckpointStore()
    whole = select(first)

    def die(call: int) -> None:
        if call == int(share * first.num_calls):
            raise ConnectionAbortedError

    killed, second = make_planted_scorer(before_call=die), make_planted_scorer()
    with pytest.raises(ConnectionAbortedError):
        select(remember(killed), checkpoints=store)
    resumed = select(remember(second), checkpoints=store)

    assert (resumed.digest, resumed.cost.pairs) == (whole.digest, whole.cost.pairs)
    assert second.num_pairs == first.num_pairs - killed.num_pairs


def test_file_holds_no_text(remember: Make, tmp_path: Path) -> None:
    remember(TableScorer()).score([("canary one",)], ["canary two"], [" canary", " three"])
    assert b"canary" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())
