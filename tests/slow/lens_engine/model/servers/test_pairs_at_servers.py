"""Each query after its own prefix, asked of servers of every kind."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lens_engine.model.base import Block
from lens_engine.model.limits import find_floors
from lens_engine.model.servers.address import Endpoint, EndpointKind
from lens_engine.model.servers.scorer import open_endpoint
from lens_engine.model.spending import TokenPrices
from lens_engine.prompt.chat import lift_system, read_turns
from tests.endpoints.chat_double import MODEL as CHAT
from tests.endpoints.chat_double import ChatDouble
from tests.endpoints.double import Double, HashBehind
from tests.endpoints.serving import serving
from tests.slow.lens_engine.model.servers.test_chat_server import EXAMPLES, TASK, TEXTS
from tests.unit.lens_engine.model.servers.conftest import Connect

QUERIES = [f"Text {number}. It was" for number in range(12)]
PREFIXES = [(), *((f"Number {number} was good.\n", "It was bad.\n") for number in range(1, 12))]
SPANS = [" great", " grim", " so"]
RIGHT = np.array(
    [
        [HashBehind().score(prefix, query, span) for span in SPANS]
        for prefix, query in zip(PREFIXES, QUERIES, strict=True)
    ],
    dtype=np.float32,
)
PRICES = TokenPrices(input=2.0, output=8.0)


@pytest.mark.parametrize("kind", ["vllm", "llama-cpp"])
def test_each_prompt_is_asked_once_and_answered_right(kind: EndpointKind, connect: Connect, double: Double) -> None:
    scorer = connect(kind=kind)
    double.prompts.clear()

    found = scorer.score_pairs(PREFIXES, QUERIES, SPANS)

    np.testing.assert_allclose(found, RIGHT, rtol=0, atol=1e-5)
    texts = [bytes(prompt[1:]).decode() for prompt in double.prompts]
    prompts = ["".join((*prefix, query)) for prefix, query in zip(PREFIXES, QUERIES, strict=True)]
    assert sorted(text for text in texts if text in prompts) == sorted(prompts)
    assert all(any(text.startswith(prompt) for prompt in prompts) for text in texts)


@pytest.mark.parametrize("asks_pairs_first", [False, True])
def test_answers_of_pairs_and_blocks_are_one_on_disk(asks_pairs_first: bool, connect: Connect, double: Double) -> None:
    paired = Block(tuple(PREFIXES[:3]), tuple(QUERIES[:3]), is_paired=True)
    crossed = Block(tuple(PREFIXES[:3]), tuple(QUERIES[:3]))
    scorer = connect()

    for block in (paired, crossed) if asks_pairs_first else (crossed, paired):
        (scores,) = scorer.score_blocks([block], SPANS)
        assert np.array_equal(scores[0] if block.is_paired else scores[range(3), range(3)], RIGHT[:3])
    assert scorer.pairs_found == 3
    asked = double.num_prompts
    again = [*connect().score_blocks([paired, crossed], SPANS)]
    assert [scores.shape for scores in again] == [(1, 3, 3), (3, 3, 3)]
    assert np.array_equal(again[0][0], RIGHT[:3])
    assert not set(double.prompts[asked:]) - {one for one in double.prompts[asked:] if b"Question:" in bytes(one[1:])}


def test_bill_of_pairs_is_what_is_paid(connect: Connect) -> None:
    scorer = connect(prices=PRICES)
    lengths = [sum(scorer.count_tokens([*prefix, query])) for prefix, query in zip(PREFIXES, QUERIES, strict=True)]
    scorer.count_tokens(SPANS)  # asks the server
    bill, before = scorer.bill(12, sum(lengths), SPANS, prefixes=12), scorer.spending.paid

    scorer.score_pairs(PREFIXES, QUERIES, SPANS)

    paid = scorer.spending.paid - before
    leading = paid.requests  # each prompt has one special token, and a request one prompt
    assert (bill.requests, bill.tokens + leading) == (paid.requests, paid.tokens)
    assert bill.usd == pytest.approx(paid.usd - leading * PRICES.input / 1e6)
    assert scorer.spending.ahead == pytest.approx(0)


@pytest.mark.parametrize("answers", ["probabilities", "sampled"])
def test_chat_gets_the_turns_of_each_pair(answers: Any, tmp_path: Path) -> None:
    with serving(ChatDouble()) as double:
        scorer = open_endpoint(
            Endpoint("openai-chat", f"{double.url}/v1", CHAT, answers=answers), cache_dir=tmp_path, answer_bytes=1 << 20
        )
        task = scorer.fit_task(TASK)
        shown = [EXAMPLES[place:] + EXAMPLES[:place] for place in range(8)]
        prefixes = [task.render_prefix(own[: 1 + place % 3]) for place, own in enumerate(shown)]
        queries = [task.render_query(text) for text in TEXTS]
        double.bodies.clear()

        found = scorer.score_pairs(prefixes, queries, task.label_spans)
        asked = sorted(str(body["messages"]) for body in double.bodies)
        pairs = [*zip(prefixes, queries, strict=True)]
        alone = [scorer.score([prefix], [query], task.label_spans)[0, 0] for prefix, query in pairs]
        scorer.close()

    assert np.array_equal(found, alone)
    assert not find_floors(found).any() or answers == "sampled"
    turns = [lift_system(read_turns("".join((*prefix, query)))) for prefix, query in pairs]
    assert asked == sorted(str([dict(turn) for turn in one]) for one in turns)
    assert len(double.bodies) == len(asked), "all answers were on disk"
    assert scorer.pairs_found == 8
