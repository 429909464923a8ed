"""In the spans that a task is scored with, the tokens of no label word begin those of another."""

import random
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from lens_engine.errors import EndpointError, InvalidVerbalizer
from lens_engine.model.base import Block, BlockScorer, LabelScorer, Prefix
from lens_engine.model.cluster.scorer import ScoringActor, Setup
from lens_engine.model.labels import build_label_trie, end_label_words, find_begun
from lens_engine.model.limits import check_floors, check_true_floors, find_floors, mark_floors
from lens_engine.model.score_cache import PairCache, RememberingScorer
from lens_engine.prompt.record import TaskRecord
from lens_engine.prompt.template import EndedTask, Task, find_label_end
from lens_engine.show.sentences import describe_asking
from lens_engine.testing import TableScorer, hashed_log_prob
from lens_engine.types import Example, LabelLogProbs
from tests.delegating import Delegating

WORDS = {"r": "refund", "s": "refund status", "p": "parcel"}
PIECES = ["refund", "status", "ly", ".\n", ".", "\n", "s", " ", "e"]


def encode(spans: Sequence[str]) -> list[tuple[str, ...]]:
    """Tokens of a greedy tokenizer with long and short pieces, which joins a mark with the line break after it."""
    return [_cut(span) for span in spans]


def _cut(text: str) -> tuple[str, ...]:
    tokens = []
    while text:
        piece = next((piece for piece in PIECES if text.startswith(piece)), text[0])
        tokens.append(piece)
        text = text.removeprefix(piece)
    return tuple(tokens)


@pytest.mark.parametrize(
    ("template", "separator", "end"),
    [
        ("{text} Topic: {label}.", " ", "."),
        ("{text} Topic: {label}.", "\n", ".\n"),  # one token of this tokenizer
        ("{text} Topic: {label}", "\n", "\n"),
        ("{text} is a {label}ly one", "\n", "ly"),
        ("{text}: {label} one", "\n", " o"),  # a space alone begins " status"
    ],
)
def test_end_is_the_first_token_after_the_label_word(template: str, separator: str, end: str) -> None:
    task = end_label_words(Task(template, WORDS, separator), encode)
    assert find_label_end(task) == end
    assert find_begun(encode(task.label_spans)) is None
    for span, plain in zip(task.label_spans, Task(template, WORDS, separator).label_spans, strict=True):
        assert span == plain + end
        assert encode([span])[0] == encode([plain + task.template.tail + separator])[0][: len(encode([span])[0])]


def test_end_is_longer_where_a_word_holds_its_first_token() -> None:
    task = end_label_words(Task("{text} {label}. ", {"a": "st", "b": "st."}), encode)
    assert find_label_end(task) == ". "


def test_end_joins_a_word_to_another_token() -> None:
    """ " status" + "." are other tokens than " statu" + "s.", if the tokenizer says so."""
    joined = [(*"ab",), (*"abc", "d."), ("x",)]
    known = {" ab": joined[0], " abcd": (*"abc", "d"), " x": joined[2]}
    known |= {f"{word}.": (*tokens, ".") for word, tokens in known.items()} | {" abcd.": joined[1]}
    task = end_label_words(
        Task("{text} {label}", {"1": "ab", "2": "abcd", "3": "x"}, "."), lambda spans: [*map(known.__getitem__, spans)]
    )
    assert task.label_spans == (" ab.", " abcd.", " x.")


def test_words_that_begin_no_other_stay_as_they_are() -> None:
    task = Task("{text} Topic: {label}.", {"a": "parcel", "b": "part", "c": "refund status"})
    assert end_label_words(task, encode) is task
    assert "label_end" not in TaskRecord.of(task).model_dump(mode="json")


def test_long_text_after_the_label_word_is_tokenised_in_part() -> None:
    sizes = list[int]()

    def encode_alike(spans: Sequence[str]) -> list[tuple[str, ...]]:
        sizes.extend(map(len, spans))
        return [("a",) * (1 + place) for place, _ in enumerate(spans)]

    with pytest.raises(InvalidVerbalizer, match="also with what ends it"):
        end_label_words(Task("{text} {label}" + " and on" * 1000, WORDS), encode_alike)
    assert sum(sizes) < 50_000


def test_nothing_that_ends_a_word_is_refused() -> None:
    with pytest.raises(
        InvalidVerbalizer, match=r"'refund' begins 'refund status'.*put a mark after \{label\}"
    ) as found:
        end_label_words(Task("{text} {label}", WORDS, ""), encode)
    assert found.value.field == "verbalizer.s"


def test_word_that_holds_what_ends_another_is_refused() -> None:
    words = {"a": "st", "b": "st. st"}
    with pytest.raises(InvalidVerbalizer, match=r"also with what ends it in a prompt \('\. '\)"):
        end_label_words(Task("{text} {label}.", words, " "), encode)


def test_word_that_differs_by_spaces_alone_is_told_by_its_end() -> None:
    task = end_label_words(Task("{text} {label}.", {"a": "st", "b": "st "}, " "), encode)
    assert find_label_end(task) == "."


def test_equal_tokens_are_refused() -> None:
    with pytest.raises(InvalidVerbalizer, match="are the same tokens"):
        end_label_words(Task("{text} {label}.", WORDS), lambda spans: [("a",) for _ in spans])


def test_spans_of_any_task_begin_no_other() -> None:
    draw = random.Random(5)
    letters = ["re", "fund", "status", "s", "ly", " ", "."]
    seen = 0
    for _ in range(300):
        words = {"".join(draw.choices(letters, k=draw.randint(1, 4))).strip() for _ in range(5)} - {""}
        if len(words) < 2:
            continue
        tail, separator = draw.choice(["", ".", "ly", " one."]), draw.choice(["\n", "\n\n", " ", "."])
        try:
            task = end_label_words(
                Task(f"{{text}}: {{label}}{tail}", {word: word for word in words}, separator), encode
            )
        except InvalidVerbalizer:
            continue
        seen += isinstance(task, EndedTask)
        assert find_begun(encode(task.label_spans)) is None
    assert seen > 50


def test_task_is_fitted_to_each_model_anew() -> None:
    class Letters(TableScorer):
        def encode_label_spans(self, label_spans: Sequence[str]) -> list[tuple[str, ...]]:
            return [tuple(span) for span in label_spans]

    task = Task("{text} Topic: {label}.", {"a": "order", "b": "orders"})
    by_words, by_letters = TableScorer().fit_task(task), Letters().fit_task(task)
    assert (find_label_end(by_words), find_label_end(by_letters)) == ("", ".")
    assert TableScorer().fit_task(by_letters) == by_words


def test_prompts_and_record_are_those_of_the_task() -> None:
    task = Task("{text} Topic: {label}.", WORDS)
    ended = TableScorer().fit_task(task)
    example = Example(0, "where is it", "s")
    assert isinstance(ended, EndedTask)
    assert ended.render_prompt([example], "a") == task.render_prompt([example], "a")
    record = TaskRecord.model_validate_json(TaskRecord.of(ended).model_dump_json())
    assert record.task() == ended
    assert "so each is scored with its end: '.'" in describe_asking(record)
    assert "each is scored with" not in describe_asking(TaskRecord.of(task))


def test_single_token_labels_feed_nothing() -> None:
    trie = build_label_trie(["a", "b"], [(5,), (7,)])

    assert trie.num_fed == 0
    assert trie.reads == (((0, 5),), ((0, 7),))
    assert trie.chains() == ((),)


def test_shared_beginnings_are_fed_once() -> None:
    trie = build_label_trie(["ab", "abc", "ad", "e"], [(1, 2), (1, 2, 3), (1, 4), (5,)])

    assert trie.tokens == (-1, 1, 2)  # (), (1), (1, 2)
    assert trie.parents == (-1, 0, 1)
    assert trie.depths == (0, 1, 2)
    assert trie.reads[1] == ((0, 1), (1, 2), (2, 3))
    assert trie.reads[2] == ((0, 1), (1, 4))
    assert trie.longest_span == 3


def test_branches_make_a_chain_each() -> None:
    trie = build_label_trie(["x", "y", "z"], [(1, 2, 3), (1, 4, 5), (6, 7)])

    assert trie.num_fed == 4
    assert [tuple(trie.tokens[node] for node in chain) for chain in trie.chains()] == [(1, 2), (1, 4), (6,)]


@pytest.mark.parametrize(
    ("spans", "tokens", "message"),
    [
        ([" good", " bad", " Good"], [(1,), (2,), (1,)], "' good' and ' Good'"),
        ([" good", ""], [(1,), ()], "has no tokens"),
        ([], [], "no label words"),
    ],
)
def test_indistinct_words_are_refused(spans: list[str], tokens: list[tuple[int, ...]], message: str) -> None:
    with pytest.raises(InvalidVerbalizer, match=message) as refusal:
        build_label_trie(spans, tokens)
    assert refusal.value.field == "verbalizer"


def test_chat_that_lists_few_label_words_is_refused() -> None:
    scores = mark_floors(np.full((100, 10), -1.0), np.arange(1000).reshape(100, 10) < 300)
    check_floors(scores, "chatty")
    check_floors(mark_floors(np.full((10, 10), -1.0), np.ones((10, 10), dtype=bool)), "chatty")  # too few to tell
    scores[-1:] = mark_floors(scores[-1:], np.ones((1, 10), dtype=bool))
    with pytest.raises(EndpointError, match=r"chatty lists only 69% of the label words .*check: most probable tokens"):
        check_floors(scores, "chatty")


def test_right_labels_that_are_not_listed_are_refused() -> None:
    values = np.full((2, 200, 3), -1.0)
    floors = np.zeros(values.shape, dtype=bool)
    gold = np.arange(200) % 3
    floors[0, :20, :] = True
    scores = mark_floors(values, floors)
    check_true_floors(scores, gold, "chatty")
    floors[1, 7, gold[7]] = True
    with pytest.raises(EndpointError, match=r"chatty does not list the right label .* for 21 of 400 rows"):
        check_true_floors(mark_floors(values, floors), gold, "chatty")


def test_mark_of_a_floor_survives_and_changes_nothing_else() -> None:
    values = -np.random.default_rng(0).exponential(3.0, 1000)
    floors = np.arange(1000) % 3 == 0
    marked = mark_floors(values, floors)
    assert np.array_equal(find_floors(marked.astype(np.float64).astype(np.float32)), floors)
    assert np.abs(marked - values).max() < 1e-5
    assert np.isfinite(mark_floors(np.zeros(2), np.array([True, False]))).all()


SPANS = (" no", " yes")
PREFIXES: list[Prefix] = [(), ("one demonstration.",), ("two.", "demonstrations.")]
QUERIES = ["a query", "another", "and a third"]
EXPECTED = np.array(
    [[hashed_log_prob(*pair, span) for span in SPANS] for pair in zip(PREFIXES, QUERIES, strict=True)], np.float32
)
PAIRED = Block(tuple(PREFIXES), tuple(QUERIES), is_paired=True)
CROSSED = Block(tuple(PREFIXES), tuple(QUERIES))


class Workers(BlockScorer, Delegating):
    """Two workers, of which each scores a block."""

    num_workers = 2

    def score_blocks(self, blocks: Iterable[Block], label_spans: Sequence[str]) -> Iterator[LabelLogProbs]:
        waiting = deque[Block]()
        for block in blocks:
            waiting.append(block)
            if len(waiting) == self.num_workers:
                yield self.scorer.score_block(waiting.popleft(), label_spans)
        for block in waiting:
            yield self.scorer.score_block(block, label_spans)


def test_paired_block_has_as_many_prefixes_as_queries() -> None:
    with pytest.raises(ValueError, match="3 queries have 2 prefixes; each needs its own"):
        Block(PAIRED.prefixes[:2], PAIRED.queries, is_paired=True)

    assert (PAIRED.shape, PAIRED.num_pairs) == ((1, 3), 3)
    assert (CROSSED.shape, CROSSED.num_pairs) == ((3, 3), 9)


@pytest.mark.parametrize(
    ("scorer", "calls"),
    [(TableScorer(), [(1, 3, 2)]), (Delegating(TableScorer()), [(1, 1, 2)] * 3), (Workers(TableScorer()), [(1, 3, 2)])],
    ids=["pairs", "one by one", "workers"],
)
def test_each_query_is_scored_after_its_own_prefix(scorer: LabelScorer, calls: list[tuple[int, int, int]]) -> None:
    table = scorer if isinstance(scorer, TableScorer) else scorer.scorer  # type: ignore[attr-defined]

    assert np.array_equal(scorer.score_pairs(PREFIXES, QUERIES, SPANS), EXPECTED)
    assert table.calls == calls
    assert scorer.score_pairs([], [], SPANS).shape == (0, 2)


def test_workers_take_paired_blocks_among_others() -> None:
    scorer = Workers(TableScorer())

    scores = list(scorer.score_blocks([PAIRED, CROSSED, PAIRED], SPANS))

    assert [one.shape for one in scores] == [(1, 3, 2), (3, 3, 2), (1, 3, 2)]
    assert np.array_equal(scores[0][0], EXPECTED)
    assert np.array_equal(scores[1][range(3), range(3)], EXPECTED)


@pytest.mark.parametrize("first", [PAIRED, CROSSED])
def test_paired_block_is_found_again_and_is_no_other(first: Block, tmp_path: Path) -> None:
    table = TableScorer()
    scorer = RememberingScorer(table, PairCache(tmp_path / "pairs.sqlite3", 1 << 20), ("here",))

    (computed,) = scorer.score_blocks([first], SPANS)
    found, other = scorer.score_blocks([first, CROSSED if first is PAIRED else PAIRED], SPANS)

    assert found.tobytes() == computed.tobytes()
    assert (table.num_calls, scorer.pairs_found) == (2, first.num_pairs)
    assert found.shape != other.shape
    if first is PAIRED:
        assert np.array_equal(scorer.score_pairs(PREFIXES, QUERIES, SPANS), EXPECTED)
        assert table.num_calls == 2


def test_actor_scores_paired_blocks() -> None:
    class Loaded(TableScorer):
        token_budget, surroundings, num_layers = 512, (), 0

    actor = ScoringActor()
    actor._make_scorer = lambda _: Loaded()  # type: ignore[method-assign]

    assert np.array_equal(actor.score(Setup({}), PAIRED, SPANS, 256)[0], EXPECTED[np.newaxis])
