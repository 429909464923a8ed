import json
import math
import tomllib
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lens_engine.errors import BudgetSpent, InvalidConfig, InvalidVerbalizer
from lens_engine.model.servers.address import KINDS, Endpoint, read_endpoints
from lens_engine.model.servers.chat_answers import find_answers, list_probes
from lens_engine.model.servers.refusal import clean_words, read_name
from lens_engine.model.servers.scorer import SERVER_KINDS
from lens_engine.model.spending import Paid, Spending, TokenPrices
from lens_engine.testing import TableScorer
from tests.endpoints.chat_double import MODEL
from tests.endpoints.double import HashBehind
from tests.unit.lens_engine.model.servers.conftest import Connect

KEY = "sk-proj-0123456789abcdef"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (f"wrong key {KEY}.", "wrong key [key]."),
        ("wrong key: sk-proj-******cdef.", "wrong key: [key]"),
        ("ends in 9abcdef", "ends in [key]"),
        ("upstream key 'sk-SECRETKEY01234567***' is bad", "upstream key '[key]' is bad"),
        ("Authorization: Bearer abc", "Authorization: Bearer [key]"),
        ("no model llama-3.1-8b-instruct", "no model llama-3.1-8b-instruct"),
        ("two\r\nlines\0\x1b[31m \ud800", "two  lines  [31m"),
        ("x" * 5000, "x" * 300),
        (7, "7"),
        (None, "None"),
        ([[KEY]], "list"),
    ],
)
def test_words_are_shown_without_secrets(said: object, shown: str) -> None:
    assert clean_words(said, KEY) == shown


def test_short_key_is_masked() -> None:
    assert clean_words("the key abc is wrong", "abc") == "the key [key] is wrong"


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("/models/hf_Qwen2.5-7B-Instruct", "/models/hf_Qwen2.5-7B-Instruct"),
        ("/models/hf_Qwen2.5-14B-Instruct", "/models/hf_Qwen2.5-14B-Instruct"),
        ("two\nlines\0", "two lines"),
        ("x" * 5000, "x" * 300),
        (5, "5"),
        (["a"], "list"),
        (None, None),
    ],
)
def test_name_of_a_model_is_not_masked(said: object, name: str | None) -> None:
    assert read_name(said) == name


WORD = st.text("abc", min_size=1, max_size=4)


def cut(words: Sequence[str], lengths: Sequence[int], space: str = "") -> list[dict[str, float]]:
    """What is listed if the first token of each word has this many characters."""
    return [{space + word[:length]: -0.1, "The": -3.0} for word, length in zip(words, lengths, strict=True)]


@given(st.lists(WORD, min_size=2, max_size=8, unique=True), st.data())
def test_answers_tell_every_label(words: list[str], data: st.DataObject) -> None:
    lengths = [data.draw(st.integers(1, len(word))) for word in words]
    found = find_answers(words, cut(words, lengths, data.draw(st.sampled_from(["", " "]))))

    for word, answer in zip(words, found or (), strict=found is not None):
        assert [one for one in words if one.startswith(answer)] == [word]
        assert len(answer) >= 2 or answer == word


@given(st.lists(WORD, min_size=2, max_size=8, unique=True))
def test_whole_words_stay_unless_one_begins_another(words: list[str]) -> None:
    begins = any(one != other and other.startswith(one) for one in words for other in words)

    assert find_answers(words, cut(words, [len(word) for word in words])) == (None if begins else tuple(words))


@pytest.mark.parametrize(
    ("words", "listed"),
    [
        (("New York", "New Jersey"), cut(("New York", "New Jersey"), (3, 3))),
        (("Billing", "Delivery"), cut(("Billing", "Delivery"), (1, 8))),
        (("Bill", "Billing"), cut(("Bill", "Billing"), (4, 7))),
        (("Billing", "Delivery"), [{"The": -0.1}, {"Delivery": -0.1}]),
    ],
    ids=["alike", "one character", "beginning", "not repeated"],
)
def test_words_that_first_tokens_do_not_tell_are_replaced(words: tuple[str, str], listed: Any) -> None:
    assert find_answers(words, listed) is None


def test_most_probable_beginning_is_the_answer() -> None:
    listed = [{"B": -1.0, "Bill": -0.5, "Billing": -2.0, "**": -0.1}, {"Del": -math.inf, "Delivery": -0.2}]

    assert find_answers(("Billing", "Delivery"), listed) == ("Bill", "Delivery")


def test_more_labels_than_letters_are_refused_if_words_are_alike() -> None:
    words = [f"word {number}" for number in range(21)]

    with pytest.raises(InvalidVerbalizer, match="first token of the label word 'word 0' does not tell it from others"):
        find_answers(words, cut(words, [4] * 21))


def test_probe_has_its_word_last_and_repeats_others() -> None:
    for word, turns in zip(("one", "two", "three"), list_probes(["one", "two", "three"]), strict=True):
        assert turns[0]["role"] == "system"
        assert turns[-1] == {"role": "user", "content": word}
        assert word not in [turn["content"] for turn in turns[1:-1]]
        assert [turn["content"] for turn in turns[1:-1:2]] == [turn["content"] for turn in turns[2:-1:2]]


TOML = """
[ours]
kind = "vllm"
url = "http://10.0.0.5:8000/v1"
model = "our-llama"
key_variable = "OUR_KEY"
tokenizer = "./tokenizer"
most_requests = 4

[hosted]
kind = "openai-chat"
url = "https://api.example.com/v1"
model = "m"
prices = { input = 0.4, output = 1.6 }
answers = "sampled"
extra = { reasoning_effort = "none" }
"""
JSON = json.dumps(tomllib.loads(TOML))
SERVERS = {
    "ours": Endpoint(
        "vllm", "http://10.0.0.5:8000", "our-llama", key_variable="OUR_KEY", tokenizer="./tokenizer", most_requests=4
    ),
    "hosted": Endpoint(
        *("openai-chat", "https://api.example.com/v1", "m"),
        prices=TokenPrices(0.4, 1.6),
        answers="sampled",
        extra={"reasoning_effort": "none"},
    ),
}


@pytest.mark.parametrize(
    ("name", "content"), [("servers.toml", TOML), ("servers.json", f"\ufeff{JSON}"), ("servers", JSON)]
)
def test_file_names_servers(name: str, content: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content, "utf-8")
    assert read_endpoints(str(path)) == SERVERS


def test_content_of_a_file_is_read_too() -> None:
    assert read_endpoints(JSON) == SERVERS
    assert read_endpoints({}) == {}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"url": "ftp://h"}, "server 'ours': url: the address of an endpoint begins with http://"),
        ({"url": "http://u:sk-1@h"}, "server 'ours': url: the address of an endpoint holds no user"),
        ({"key_variable": "sk-1"}, "server 'ours': key_variable: the key of an endpoint is given by the name"),
        ({"key": "sk-1"}, "server 'ours': key: Unexpected"),
        ({"kind": "sk-1"}, "server 'ours': kind: Input should be 'vllm'"),
        ({"prices": {"input": -1, "output": 0}}, "server 'ours': prices: the price of input tokens is -1"),
        ({"prices": {"input": 1, "output": 0, "other": 2}}, "server 'ours': prices.other: Unexpected"),
        ({"kind": "openai-chat", "extra": {"api_key": "sk-1"}}, "server 'ours': extra: extra has api_key"),
    ],
)
def test_refusal_names_server_and_field_and_shows_no_key(entry: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidConfig, match=said) as caught:
        read_endpoints({"ours": {"kind": "vllm", "url": "http://h", "model": "m"} | entry})
    assert "sk-1" not in str(caught.value)


def test_all_servers_that_are_wrong_are_named() -> None:
    with pytest.raises(InvalidConfig, match=r"server 'a': .*; server 'b': model: Field required"):
        read_endpoints({"a": 3, "b": {"kind": "vllm", "url": "http://h"}})


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("servers.toml", b"[ours\n", "servers.toml: not TOML: "),
        ("servers.json", b'{"ours": ', "servers.json: not JSON: "),
        ("servers.json", b"\xff\xfe", "servers.json: not JSON: "),
        ("servers.json", b"[1]", "servers.json: must be an object of names and servers"),
        ("servers.toml", b"ours = 3", "servers.toml: server 'ours': "),
        ("servers.toml", None, "servers.toml: No such file"),
    ],
)
def test_refusal_names_the_file(name: str, content: bytes | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidConfig, match=said) as caught:
        read_endpoints(str(path))
    assert caught.value.field == "endpoints"


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        ("openai-chat", {"extra": {"logprobs": False}}, "extra has logprobs, which Lens sets itself"),
        ("openai-chat", {"extra": {"api_key": "sk-1"}}, "extra has api_key, and a result shows extra"),
        ("openai-chat", {"extra": {"x": [{"Authorization": "sk-1"}]}}, "extra has Authorization, and a result"),
        ("openai-chat", {"extra": {"x": float("nan")}}, "extra is no JSON object"),
        ("openai-chat", {"answers": "text"}, "take probabilities or sampled"),
        ("vllm", {"answers": "sampled"}, "options of openai-chat alone"),
    ],
)
def test_options_of_an_endpoint_are_checked(kind: Any, given: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidConfig, match=said) as caught:
        Endpoint(kind, "http://localhost", MODEL, **given)
    assert "sk-1" not in str(caught.value)


def test_fields_that_only_look_like_keys_are_taken_and_not_shown() -> None:
    extra = {"prompt_cache_key": "lens", "max_completion_tokens": 1, "logit_bias": {"17": 1}}
    endpoint = Endpoint("openai-chat", "http://localhost", MODEL, extra=extra)
    assert "prompt_cache_key" not in repr(endpoint)


PRICES = TokenPrices(input=2.0, output=8.0, cached=1.0)


def usage(prompt: int, written: int, cached: int = 0) -> dict[str, object]:
    details = {"cached_tokens": cached}
    return {"prompt_tokens": prompt, "completion_tokens": written, "prompt_tokens_details": details}


@pytest.mark.parametrize(
    ("counted", "paid"),
    [
        (usage(1_000_000, 1_000_000, cached=500_000), Paid(1.0 + 0.5 + 8.0, 1, 1_000_000, 500_000)),
        (None, Paid(usd=0.25, requests=1)),
    ],
)
def test_answer_costs_what_was_counted_or_else_reserved(counted: Any, paid: Paid) -> None:
    spending = Spending(PRICES)
    spending.reserve(0.25)
    spending.settle(0.25, counted, is_paid=True)
    assert spending.paid == paid


def test_refused_request_costs_nothing() -> None:
    spending = Spending(PRICES)
    spending.limit = 1.0
    spending.reserve(1.0)
    spending.settle(1.0, None, is_paid=False)
    assert spending.paid == Paid()
    assert spending.affords(1.0)


def test_request_beyond_the_limit_is_not_sent() -> None:
    spending = Spending(PRICES)
    spending.limit = 1.0
    spending.reserve(0.75)
    with pytest.raises(BudgetSpent, match=r"0\.7500 reserved of 1\.0000"):
        spending.reserve(0.5)


def test_free_request_is_sent_when_nothing_is_left() -> None:
    spending = Spending(PRICES)
    spending.limit = -1.0
    spending.reserve(0.0)


def test_requests_that_wait_are_ahead_until_they_are_done() -> None:
    spending, answered, cancelled = Spending(PRICES), Future[None](), Future[None]()
    spending.expect(0.5, answered)
    spending.expect(0.25, cancelled)
    assert spending.ahead == 0.75
    answered.set_result(None)
    assert spending.ahead == 0.25
    cancelled.cancel()
    assert spending.ahead == 0


@pytest.mark.parametrize("price", [-1.0, float("nan"), float("inf")])
def test_price_that_is_none_is_refused(price: float) -> None:
    with pytest.raises(InvalidConfig, match="USD per million"):
        TokenPrices(input=price, output=1.0)


def test_bill_has_each_read_of_label_words_of_several_tokens(connect: Connect) -> None:
    scorer = connect(prices=PRICES)
    prefixes, queries, spans = [("x\n",)], [f"Text {number}. It was" for number in range(20)], ["ga", "gb"]
    prompt_tokens = sum(scorer.count_tokens([f"x\n{query}" for query in queries]))
    scorer.count_tokens([*prefixes[0], *queries, *spans])  # asks the server
    bill, before = scorer.bill(20, prompt_tokens, spans), scorer.spending.paid
    scorer.score(prefixes, queries, spans)
    paid = scorer.spending.paid - before
    leading = 2 * 20 * len(HashBehind().tokenize("", special=True))
    assert (bill.requests, bill.tokens + leading) == (paid.requests, paid.tokens)
    assert bill.usd == pytest.approx(paid.usd - leading * 2.0 / 1e6)
    assert scorer.spending.ahead == pytest.approx(0)


def test_every_kind_of_server_is_known() -> None:
    assert SERVER_KINDS.keys() == {*KINDS}


def test_model_on_this_machine_pays_nothing() -> None:
    assert TableScorer().spending is None
