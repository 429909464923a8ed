"""The scorer over a server: right values, answers kept, blocks under way together, stops that lose nothing."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lens_engine.errors import EndpointError, InvalidVerbalizer, PromptTooLong
from lens_engine.model.base import Block
from lens_engine.model.limits import interrupted_by
from lens_engine.model.servers import scorer as endpoint_scorer
from tests.endpoints.double import Double, HashBehind
from tests.unit.lens_engine.model.servers.conftest import Connect

PREFIXES = [(), ("It was good.\n", "It was bad.\n")]
QUERIES = [f"Text {number}. It was" for number in range(40)]
SPANS = [" great", " grim", " so"]


def expected() -> np.ndarray[Any, Any]:
    score = HashBehind().score
    return np.array([[[score(p, q, s) for s in SPANS] for q in QUERIES] for p in PREFIXES], dtype=np.float32)


def test_prompts_of_one_prefix_travel_together(connect: Connect, double: Double) -> None:
    scorer = connect()
    before = double.num_completions
    scorer.score([PREFIXES[1]], QUERIES[:32], [" a", " b"])  # both begin with a space: two reads
    assert double.num_completions - before == 2 * 32 / 16


def test_an_answer_is_asked_for_once(connect: Connect, double: Double) -> None:
    first = connect()
    scores = first.score(PREFIXES, QUERIES, SPANS)
    asked = double.num_prompts
    assert np.array_equal(first.score(PREFIXES, QUERIES, SPANS), scores)
    assert double.num_prompts == asked
    assert first.pairs_found == scores[..., 0].size
    other = connect()
    asked = double.num_prompts
    assert np.array_equal(other.score(PREFIXES, QUERIES[::-1], SPANS)[:, ::-1], scores)
    assert double.num_prompts == asked


def test_answers_wait_for_another_writer_of_their_file(connect: Connect, double: Double, tmp_path: Path) -> None:
    scorer = connect()
    scorer.score(PREFIXES, QUERIES[:1], SPANS)  # makes the file
    path = tmp_path / "answers.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(4.0, other.rollback)  # a score that cost nothing would be given up after 2 s
        release.start()
        scorer.score(PREFIXES, QUERIES, SPANS)
        release.join()
    asked = double.num_prompts
    scorer.score(PREFIXES, QUERIES, SPANS)
    assert double.num_prompts == asked


def test_without_answers_on_disk_every_call_asks(connect: Connect, double: Double) -> None:
    scorer = connect(remembers=False)
    scorer.score(PREFIXES, QUERIES, SPANS)
    asked = double.num_prompts
    scorer.score(PREFIXES, QUERIES, SPANS)
    assert double.num_prompts > asked
    assert scorer.pairs_found == 0


def test_blocks_are_under_way_together_and_come_back_in_order(connect: Connect, double: Double) -> None:
    scorer = connect(most_requests=8)
    double.seconds = 0.05
    blocks = [Block(((f"demonstration {number}\n",),), tuple(QUERIES[:4])) for number in range(16)]
    found = list(scorer.score_blocks(blocks, [" x", "y"]))
    assert 4 <= double.most_at_once <= 8
    for block, scores in zip(blocks, found, strict=True):
        assert scores[0, 0, 1] == pytest.approx(HashBehind().score(block.prefixes[0], block.queries[0], "y"))


def test_a_stop_ends_within_a_second_and_keeps_what_was_answered(connect: Connect, double: Double) -> None:
    scorer = connect(most_requests=4)
    double.seconds = 0.3
    begins, sent = time.monotonic(), double.num_prompts

    class Stop(Exception):
        pass

    def look() -> None:
        if double.num_prompts > sent:
            raise Stop

    with interrupted_by(look), pytest.raises(Stop):
        scorer.score(PREFIXES, QUERIES, SPANS)
    assert time.monotonic() - begins < 3
    asked = double.prompts[sent:]
    time.sleep(0.4)
    assert double.prompts[sent:] == asked  # nothing was sent after the stop
    double.seconds = 0.0
    assert np.array_equal(scorer.score(PREFIXES, QUERIES, SPANS), expected())
    again = double.prompts[sent + len(asked) :]
    assert asked
    assert not set(asked) & set(again)


def test_caller_who_stops_listening_ends_the_requests(connect: Connect, double: Double) -> None:
    scorer = connect()
    blocks = (Block(((f"{number}\n",),), tuple(QUERIES)) for number in range(50))
    found: Iterator[Any] = scorer.score_blocks(blocks, SPANS)
    next(found)
    found.close()  # type: ignore[attr-defined]
    asked = double.num_prompts
    time.sleep(0.2)
    assert double.num_prompts == asked


def test_long_prompt_is_refused_before_it_is_sent(connect: Connect, double: Double) -> None:
    scorer = connect(context=100)
    asked = double.num_prompts
    with pytest.raises(PromptTooLong, match="exceeds the model's 100"):
        scorer.score([()], ["x" * 100], SPANS)
    assert double.num_prompts == asked


def test_equal_label_words_are_refused(connect: Connect) -> None:
    with pytest.raises(InvalidVerbalizer, match="same tokens"):
        connect().score([()], ["a"], [" b", " b"])


def test_more_wanted_tokens_than_a_request_may_name(connect: Connect) -> None:
    spans = [chr(number) for number in range(32, 127)] + [chr(200 + number) for number in range(60)]
    (scores,) = connect().score([()], ["a", "b"], spans)
    assert scores[1, 3] == pytest.approx(HashBehind().score((), "b", spans[3]))


def test_exchanged_model_is_noticed(connect: Connect, double: Double, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_scorer, "CHECK_EVERY", 4)
    scorer = connect()
    scorer.score(PREFIXES, QUERIES, SPANS)

    class Other(HashBehind):
        def __call__(self, prompts: Any, wanted: Any) -> Any:
            return super().__call__([[1, *prompt] for prompt in prompts], wanted)

    double.behind = Other()
    with pytest.raises(EndpointError, match="check: same model"):
        scorer.score([("new\n",)], QUERIES, SPANS)


def test_revision_is_that_of_the_model_and_not_of_the_address(connect: Connect, double: Double) -> None:
    first = connect().identity
    assert connect().identity == first
    assert first.device == "endpoint"
    double.version = "0.33.0"
    assert connect().identity.revision != first.revision


def test_several_threads_find_the_scores_of_the_model_behind(connect: Connect) -> None:
    scorer = connect()
    assert scorer.num_workers > 1
    with ThreadPoolExecutor(2) as pool:
        for found in pool.map(lambda _: scorer.score(PREFIXES, QUERIES, SPANS), range(2)):
            assert np.array_equal(found, expected())
