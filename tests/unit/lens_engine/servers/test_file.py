"""The file of models behind servers."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from lens_engine.errors import InvalidConfig
from lens_engine.scoring.spending import TokenPrices
from lens_engine.servers.address import Endpoint, read_endpoints
from tests.endpoints.chat_double import MODEL

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
        ("openai-chat", {"extra": {"top_logprobs": 1}}, "extra has top_logprobs, which Lens sets itself"),
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
