"""Requests over real sockets: what is tried again, what is refused at once, and where a request may go."""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from starlette.responses import JSONResponse, RedirectResponse, Response

from lens_engine.errors import EndpointAway, EndpointError, InvalidConfig
from lens_engine.model.servers import transport
from lens_engine.model.servers.address import Endpoint
from lens_engine.model.servers.refusal import read_retry_after
from lens_engine.model.servers.transport import Transport
from lens_engine.model.spending import Paid, Spending, TokenPrices
from tests.endpoints.double import MODEL, Double, HashBehind, serving
from tests.ports import reserve_port
from tests.slow.lens_engine.model.servers.test_hostile_servers import ask, asking, saying
from tests.unit.lens_engine.model.servers.conftest import Connect

QUERIES = [f"Text {number}. It was" for number in range(48)]
SPANS = ["g", "b"]


def refuse_some(
    is_refused: Callable[[int], bool], response: Callable[[], Response]
) -> Callable[[int], Response | None]:
    return lambda number: response() if is_refused(number) else None


def told(status: int, code: str = "", **headers: str) -> Callable[[], Response]:
    return lambda: JSONResponse({"error": {"message": "not now", "code": code}}, status, headers)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits between attempts are a hundredth of those of the product."""
    uniform = transport.random.uniform
    monkeypatch.setattr(transport.random, "uniform", lambda low, high: uniform(low, high) / 100)


@pytest.mark.usefixtures("hasty")
def test_passing_refusal_is_tried_again(connect: Connect, double: Double) -> None:
    scorer = connect(remembers=False)
    right = scorer.score([()], QUERIES[:12], SPANS)
    for status in (408, 409, 425, 429, 500, 502, 503, 504):
        double.refuse = refuse_some(lambda number: number % 3 == 0, told(status))
        assert np.array_equal(scorer.score([("x\n",), ()], QUERIES[:12], SPANS)[1], right[0]), status


@pytest.mark.parametrize(
    ("status", "code", "remedy"),
    [
        (400, "", "refuses"),
        (401, "", "name the environment variable"),
        (403, "", "model"),
        (404, "", "address"),
        (429, "insufficient_quota", "quota"),
    ],
)
def test_lasting_refusal_ends_the_run(connect: Connect, double: Double, status: int, code: str, remedy: str) -> None:
    scorer = connect()
    asked = double.num_completions
    double.refuse = refuse_some(lambda _: True, told(status, code))
    with pytest.raises(EndpointError, match=remedy) as caught:
        scorer.score([()], QUERIES[:8], SPANS)
    assert double.url in str(caught.value)
    assert "not now" in str(caught.value)
    assert double.num_completions == asked + 1


def test_requests_that_wait_as_asked_leave_no_place_for_others(connect: Connect, double: Double) -> None:
    scorer = connect(most_requests=2, remembers=False)
    times: list[float] = []
    begun = double.num_completions

    def refuse(number: int) -> Response | None:
        times.append(time.monotonic())
        return told(429, **{"Retry-After": "2"})() if number <= begun + 2 else None

    double.refuse = refuse
    scorer.score([(f"{number}!\n",) for number in range(4)], QUERIES, SPANS)
    assert times[1] - times[0] < 1.0
    assert times[2] - times[0] >= 2.0


def test_date_of_retry_after_is_understood() -> None:
    assert read_retry_after("1.5") == 1.5
    assert read_retry_after("Fri, 01 Jan 2100 00:00:00 GMT") > 1e9
    assert read_retry_after("Sat, 01 Jan 2000 00:00:00 GMT") == 0
    assert read_retry_after("soon") == 0
    assert read_retry_after(None) == 0


def test_an_hour_is_not_waited_for(connect: Connect, double: Double) -> None:
    scorer = connect()
    double.refuse = refuse_some(lambda _: True, told(429, **{"Retry-After": "3600"}))
    with pytest.raises(EndpointAway, match="3600 s"):
        scorer.score([()], QUERIES[:1], SPANS)


def test_server_that_is_away_for_seconds_is_waited_for(connect: Connect) -> None:
    with serving(Double(HashBehind())) as first:
        port = int(first.url.rpartition(":")[2])
        scorer = connect(url=first.url, remembers=False)
        right = scorer.score([()], QUERIES, SPANS)
    found: list[Any] = []
    asking = threading.Thread(target=lambda: found.append(scorer.score([()], QUERIES, SPANS)))
    asking.start()
    time.sleep(2.5)
    with serving(Double(HashBehind()), port) as second:
        asking.join()
        assert second.num_prompts == len(QUERIES)
    assert np.array_equal(found[0], right)


@pytest.mark.usefixtures("hasty")
def test_connection_that_is_reset_is_tried_again() -> None:
    """The first connections are closed after the request was read."""
    closed: list[socket.socket] = []

    def say(connection: socket.socket) -> None:
        if len(closed) == 2:
            saying(b'{"a": 1}')(connection)
            return
        closed.append(connection)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        connection.close()

    with asking(say) as asked:
        assert ask(asked) == {"a": 1}
    assert len(closed) == 2
    assert asked._spending.requests == 3  # those whose answer was lost may be paid


@pytest.mark.usefixtures("hasty")
def test_request_that_reaches_no_server_costs_nothing() -> None:
    spending = Spending(TokenPrices(input=1.0, output=1.0))
    url = f"http://127.0.0.1:{reserve_port()}"
    away = pytest.raises(EndpointAway, match=f"{url} does not answer: ConnectError, after 8 attempts")
    with closing(Transport(Endpoint("vllm", url, "m"), spending)) as asked, away:
        ask(asked)
    assert spending.paid == Paid()


def test_first_failure_ends_the_other_requests(connect: Connect, double: Double) -> None:
    scorer = connect(most_requests=4)
    begun = double.num_completions
    double.refuse = refuse_some(lambda number: number == begun + 5, told(400))
    with pytest.raises(EndpointError, match="400"):
        scorer.score([(f"{number}\n",) for number in range(64)], QUERIES, SPANS)
    asked = double.num_completions
    assert asked < begun + 128  # of 192
    time.sleep(0.2)
    assert double.num_completions == asked


def test_no_redirect_is_followed(connect: Connect, double: Double) -> None:
    scorer = connect()
    with serving(Double(HashBehind())) as other:
        double.refuse = lambda _: RedirectResponse(f"{other.url}/v1/completions", 307)
        with pytest.raises(EndpointError, match="follows no redirect"):
            scorer.score([()], QUERIES[:1], SPANS)
        assert other.num_completions == 0


def test_no_proxy_of_the_environment_is_used(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    connect().score([()], QUERIES[:1], SPANS)


def test_key_goes_to_the_server_and_nowhere_else(
    connect: Connect, double: Double, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    monkeypatch.setenv("MY_KEY", "sk-secret-1234")
    scorer = connect(key_variable="MY_KEY")
    scorer.score([()], QUERIES[:1], SPANS)
    assert double.headers[-1]["authorization"] == "Bearer sk-secret-1234"
    double.refuse = lambda _: JSONResponse({"error": {"message": "wrong key sk-secret-1234"}}, 401)
    with pytest.raises(EndpointError) as caught:
        scorer.score([("x\n",)], QUERIES[:1], SPANS)
    shown = [str(caught.value), repr(caught.value), repr(scorer.identity), repr(scorer.__dict__), caplog.text]
    assert not any("sk-secret" in text for text in shown)


def test_key_that_is_not_set_is_refused_by_name(double: Double, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(InvalidConfig, match="MY_KEY"):
        Transport(Endpoint("vllm", double.url, MODEL, key_variable="MY_KEY"), Spending(None))


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"url": "ftp://host"}, "url"),
        ({"url": "http://"}, "url"),
        ({"url": "http://user:secret@host"}, "url"),
        ({"url": "http://host?key=secret"}, "url"),
        ({"url": "http://host:99999"}, "url"),
        ({"kind": "ollama"}, "kind"),
        ({"model": " "}, "model"),
        ({"key_variable": "sk-secret"}, "key_variable"),
        ({"key_variable": "hf_secret"}, "key_variable"),
        ({"most_requests": 0}, "most_requests"),
    ],
)
def test_wrong_endpoint_is_refused_without_its_secret(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        Endpoint(**{"kind": "vllm", "url": "http://host", "model": "m"} | options)
    assert caught.value.field == field
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "kept"), [("http://h:1/", "http://h:1"), ("http://h/v1/", "http://h"), ("https://h/p", "https://h/p")]
)
def test_address_is_written_in_one_form(given: str, kept: str) -> None:
    assert Endpoint("vllm", given, "m").url == kept
