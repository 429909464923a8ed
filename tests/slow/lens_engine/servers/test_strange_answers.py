"""Servers whose answers have another form: each is refused by its kind and address, over real HTTP."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def refusing(kind: EndpointKind, path: str, answer: Any, folder: Path, **given: Any) -> Iterator[Strange]:
    inner: Served = ChatDouble() if kind == "openai-chat" else Double(HashBehind())
    with serving(Strange(inner, path, answer)) as double:
        url = f"{double.url}/v1" if kind == "openai-chat" else double.url
        with pytest.raises(EndpointError) as caught:
            open_endpoint(Endpoint(kind, url, MODEL, **given), cache_dir=folder, answer_bytes=None)
        assert double.url in str(caught.value)
        assert re.search(rf"in a form that {kind} does not have|\(check: tokens\)", str(caught.value))
        yield double


DESCRIBED = {"vllm": ("/v1/models", "/version"), "llama-cpp": ("/props",)}
ANSWERED = {"vllm": "/v1/completions", "llama-cpp": "/completion"}
NAMED = {"model": MODEL, "index": 0}


@pytest.mark.parametrize(("kind", "path"), [(kind, path) for kind, paths in DESCRIBED.items() for path in paths])
@pytest.mark.parametrize("answer", [["x"], [{"id": "served"}]], ids=str)
def test_description_of_another_form(kind: EndpointKind, path: str, answer: Any, tmp_path: Path) -> None:
    with refusing(kind, path, answer, tmp_path):
        pass


@pytest.mark.parametrize("answer", [{"data": ["served"]}, {"data": 3}, {"data": "served"}], ids=str)
def test_models_of_another_form(answer: Any, tmp_path: Path) -> None:
    with refusing("vllm", "/v1/models", answer, tmp_path):
        pass


@pytest.mark.parametrize("kind", ANSWERED)
@pytest.mark.parametrize("answer", [{"count": 3}, {"tokens": None}, {"tokens": "abc"}, ["x"]], ids=str)
def test_tokens_of_another_form(kind: EndpointKind, answer: Any, tmp_path: Path) -> None:
    with refusing(kind, "/tokenize", answer, tmp_path):
        pass


@pytest.mark.parametrize("kind", ANSWERED)
@pytest.mark.parametrize(
    "answer",
    [
        ["x"],
        [NAMED | {"completion_probabilities": "x", "meta_info": "x"}],
        {"model": MODEL, "choices": "x", "completion_probabilities": ["x"]},
        {"model": MODEL, "choices": [{"index": 0, "logprobs": "x"}], "completion_probabilities": 3},
        {
            "model": MODEL,
            "choices": [{"index": 0, "logprobs": {"top_logprobs": None}}],
            "completion_probabilities": "x",
        },
    ],
    ids=str,
)
def test_answer_of_another_form(kind: EndpointKind, answer: Any, tmp_path: Path) -> None:
    with refusing(kind, ANSWERED[kind], answer, tmp_path):
        pass


@pytest.mark.parametrize("answers", ["probabilities", "sampled"])
@pytest.mark.parametrize(
    "answer",
    [
        ["x"],
        {"model": DATED, "choices": ["x"]},
        {"model": DATED, "choices": {"message": "x"}},
        {"model": DATED, "choices": [{"message": "x", "logprobs": "x"}]},
        {"model": DATED, "choices": [{"message": None, "logprobs": {"content": ["x"]}}]},
        {"model": DATED, "choices": [{"message": ["x"], "logprobs": {"content": [{"top_logprobs": [{"token": 1}]}]}}]},
    ],
    ids=str,
)
def test_chat_of_another_form(answers: str, answer: Any, tmp_path: Path) -> None:
    with refusing("openai-chat", "/v1/chat/completions", answer, tmp_path, answers=answers):
        pass
