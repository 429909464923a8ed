"""Servers whose answers have another form: each is refused by its kind and address, over real HTTP."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lens_engine.errors import EndpointError
from lens_engine.servers.address import Endpoint, EndpointKind
from lens_engine.servers.open_endpoint import open_endpoint
from tests.endpoints.chat_double import DATED, ChatDouble
from tests.endpoints.double import MODEL, Double, HashBehind
from tests.endpoints.serving import Served, serving


@dataclass
class Strange:
    """A server that answers everything at one path by the same JSON, and all else as it should."""

    inner: Served
    path: str
    answer: Any
    url: str = ""

    async def say(self, _request: Request) -> Response:
        return JSONResponse(self.answer)

    def app(self) -> Starlette:
        app = self.inner.app()
        app.router.routes.insert(0, Route(self.path, self.say, methods=["GET", "POST"]))
        return app


NAMED = {"model": MODEL, "index": 0}
DESCRIPTIONS = (["x"], [{"id": "served"}])
TOKENS = ({"count": 3}, {"tokens": None}, {"tokens": "abc"}, ["x"])
ANSWERS = (
    ["x"],
    [NAMED | {"completion_probabilities": "x", "meta_info": "x"}],
    {"model": MODEL, "choices": "x", "completion_probabilities": ["x"]},
    {"model": MODEL, "choices": [{"index": 0, "logprobs": "x"}], "completion_probabilities": 3},
    {"model": MODEL, "choices": [{"index": 0, "logprobs": {"top_logprobs": None}}], "completion_probabilities": "x"},
)
TURNS = (
    ["x"],
    {"model": DATED, "choices": ["x"]},
    {"model": DATED, "choices": {"message": "x"}},
    {"model": DATED, "choices": [{"message": "x", "logprobs": "x"}]},
    {"model": DATED, "choices": [{"message": None, "logprobs": {"content": ["x"]}}]},
    {"model": DATED, "choices": [{"message": ["x"], "logprobs": {"content": [{"top_logprobs": [{"token": 1}]}]}}]},
)
STRANGE: list[tuple[EndpointKind, str, tuple[Any, ...], dict[str, Any]]] = [
    ("vllm", "/v1/models", (*DESCRIPTIONS, {"data": ["served"]}, {"data": 3}, {"data": "served"}), {}),
    ("vllm", "/version", DESCRIPTIONS, {}),
    ("llama-cpp", "/props", DESCRIPTIONS, {}),
    ("vllm", "/tokenize", TOKENS, {}),
    ("llama-cpp", "/tokenize", TOKENS, {}),
    ("vllm", "/v1/completions", ANSWERS, {}),
    ("llama-cpp", "/completion", ANSWERS, {}),
    ("openai-chat", "/v1/chat/completions", TURNS, {"answers": "probabilities"}),
    ("openai-chat", "/v1/chat/completions", TURNS, {"answers": "sampled"}),
]


@pytest.mark.parametrize(
    ("kind", "path", "answer", "given"),
    [(kind, path, answer, given) for kind, path, answers, given in STRANGE for answer in answers],
)
def test_answer_of_another_form_is_refused(
    kind: EndpointKind, path: str, answer: Any, given: dict[str, Any], tmp_path: Path
) -> None:
    inner: Served = ChatDouble() if kind == "openai-chat" else Double(HashBehind())
    with serving(Strange(inner, path, answer)) as double:
        url = f"{double.url}/v1" if kind == "openai-chat" else double.url
        with pytest.raises(EndpointError) as caught:
            open_endpoint(Endpoint(kind, url, MODEL, **given), cache_dir=tmp_path, answer_bytes=None)
    assert double.url in str(caught.value)
    assert re.search(rf"in a form that {kind} does not have|\(check: tokens\)", str(caught.value))
