"""Servers that leave things out, drift, or keep a run waiting; and runs that stop meanwhile."""

import re
import threading
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lens_engine.config import BudgetOptions
from lens_engine.errors import EndpointAway, EndpointError
from lens_engine.metering.limits import Stopped
from lens_engine.metering.meter import Meter
from lens_engine.metering.prices import Cost
from lens_engine.metering.progress import SilentListener
from lens_engine.model.limits import interrupted_by
from lens_engine.model.servers import transport
from lens_engine.model.servers.address import Endpoint, EndpointKind
from lens_engine.model.servers.scorer import open_endpoint
from lens_engine.model.servers.transport import Transport
from lens_engine.model.spending import Spending, TokenPrices
from lens_engine.prompt.template import Task
from lens_engine.types import StopReason
from tests.endpoints.chat_double import DATED, ChatDouble
from tests.endpoints.double import MODEL, Double, HashBehind
from tests.endpoints.serving import Served, serving
from tests.unit.lens_engine.model.servers.conftest import Connect


def test_gateway_without_a_version_is_asked_all_the_same(connect: Connect, double: Double) -> None:
    double.version = None
    assert (connect().identity.executor_note or "").startswith("vllm None")


def test_server_that_does_not_say_its_context_needs_it(connect: Connect, double: Double) -> None:
    double.context = None
    with pytest.raises(EndpointError, match="give the context"):
        connect()
    assert connect(context=512).max_prompt_tokens == 512


@pytest.mark.parametrize("kind", ["vllm", "llama-cpp"])
def test_tokenizer_that_puts_a_space_before_texts_is_refused(connect: Connect, double: Double, kind: str) -> None:
    class Spacing(HashBehind):
        def tokenize(self, text: str, *, special: bool) -> list[int]:
            return super().tokenize(f" {text}", special=special)

    double.behind = Spacing()
    with pytest.raises(EndpointError, match="space before every text; name the model's own tokenizer"):
        connect(kind=kind)


def test_time_limit_is_heard_while_the_server_holds_requests(connect: Connect, double: Double, task: Task) -> None:
    scorer = connect()
    double.refuse = lambda _: JSONResponse({}, 429, {"Retry-After": "60"})
    meter = Meter(
        scorer=scorer,
        label_spans=task.label_spans,
        listener=SilentListener(),
        budget=BudgetOptions(max_seconds=1.0),
        planned=Cost(100, 1000),
    )
    began = time.monotonic()
    with pytest.raises(Stopped) as stopped:
        meter.score([("x\n",)], ["a", "b"])
    assert stopped.value.reason is StopReason.BUDGET
    assert time.monotonic() - began < 30


def test_answer_that_is_lost_on_the_way_is_paid(monkeypatch: pytest.MonkeyPatch, double: Double) -> None:
    monkeypatch.setattr(transport, "_ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(transport, "_ATTEMPTS", 1)
    spending = Spending(TokenPrices(input=1.0, output=0.0))
    double.seconds = 1.0
    body = {"model": MODEL, "prompt": [[1, 2]], "logprob_token_ids": [3]}
    late = pytest.raises(EndpointAway, match="TimeoutError")
    with closing(Transport(Endpoint("vllm", double.url, MODEL), spending)) as asked, late:
        asked.wait(asked.start(asked.post("/v1/completions", body, tokens=1_000_000)))
    assert spending.usd == 1.0


def test_stop_of_one_thread_leaves_the_others_alone(connect: Connect, double: Double) -> None:
    scorer = connect()
    double.seconds = 0.3
    queries = [f"Text {number}" for number in range(64)]

    class Stop(Exception):
        pass

    def stop() -> None:
        begins = time.monotonic()

        def look() -> None:
            if time.monotonic() - begins > 0.4:
                raise Stop

        with interrupted_by(look), pytest.raises(Stop):
            scorer.score([(f"{number}\n",) for number in range(16)], queries, ["x", "y"])

    stopping = threading.Thread(target=stop)
    stopping.start()
    found = scorer.score([("other\n",)], queries, ["x", "y"])
    stopping.join()
    assert found[0, 0, 0] == pytest.approx(HashBehind().score(("other\n",), queries[0], "x"))


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
def test_odd_form_is_refused(kind: EndpointKind, path: str, answer: Any, given: dict[str, Any], tmp_path: Path) -> None:
    inner: Served = ChatDouble() if kind == "openai-chat" else Double(HashBehind())
    with serving(Strange(inner, path, answer)) as double:
        url = f"{double.url}/v1" if kind == "openai-chat" else double.url
        with pytest.raises(EndpointError) as caught:
            open_endpoint(Endpoint(kind, url, MODEL, **given), cache_dir=tmp_path, answer_bytes=None)
    assert double.url in str(caught.value)
    assert re.search(rf"in a form that {kind} does not have|\(check: tokens\)", str(caught.value))
