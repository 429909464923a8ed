"""Servers that leave things out, drift, or keep a run waiting; and runs that stop meanwhile."""

import threading
import time

import pytest
from starlette.responses import JSONResponse

from lens_engine.config import BudgetOptions
from lens_engine.errors import EndpointAway, EndpointError
from lens_engine.metering.limits import Stopped
from lens_engine.metering.meter import Meter
from lens_engine.metering.prices import Cost
from lens_engine.metering.progress import SilentListener
from lens_engine.scoring.interruption import interrupted_by
from lens_engine.scoring.spending import Spending, TokenPrices
from lens_engine.servers import transport
from lens_engine.servers.address import Endpoint
from lens_engine.servers.transport import Transport
from lens_engine.task.template import Task
from lens_engine.types import StopReason
from tests.endpoints.double import MODEL, Double, HashBehind
from tests.unit.lens_engine.servers.conftest import Connect


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
    asked = Transport(Endpoint("vllm", double.url, MODEL), spending)
    double.seconds = 1.0
    body = {"model": MODEL, "prompt": [[1, 2]], "logprob_token_ids": [3]}
    try:
        with pytest.raises(EndpointAway, match="TimeoutError"):
            asked.wait(asked.start(asked.post("/v1/completions", body, tokens=1_000_000)))
    finally:
        asked.close()
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
