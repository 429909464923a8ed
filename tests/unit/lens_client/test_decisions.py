"""The client's own decisions: what it sends again, how long it waits, and which error it raises."""

import asyncio
import json
import time
from typing import Any

import httpx
import pytest

from app.errors import NotFound
from lens_client import AsyncLensClient, LensClient, NotSucceeded, Problem, TimedOut, Unreachable

ID = "sel_01jd5g9k2m7x8y4z0q3r6t1v5w"
SELECTION = {"id": ID, "status": "succeeded", "dataset_id": "ds_1", "created_at": "2026-11-25T10:00:00Z"}
VERSION = {
    "name": "x",
    "version": 7,
    "selection_id": ID,
    "note": None,
    "key_name": None,
    "created_at": "2026-11-25T10:00:00Z",
}

Answers = list[httpx.Response | Exception]


class Wire:
    """Gives these answers in turn, and keeps the requests."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers, self.requests = iter(answers), list[httpx.Request]()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = next(self.answers)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found = list[float]()

    async def note(seconds: float) -> None:
        found.append(seconds)

    monkeypatch.setattr(time, "sleep", found.append)
    monkeypatch.setattr(asyncio, "sleep", note)
    return found


def client_of(*answers: httpx.Response | Exception) -> tuple[LensClient, Wire]:
    wire = Wire(*answers)
    return LensClient("http://lens", transport=httpx.MockTransport(wire)), wire


def ok(body: Any = SELECTION, status: int = 200, **headers: str) -> httpx.Response:
    return httpx.Response(status, json=body, headers={name.replace("_", "-"): value for name, value in headers.items()})


def refused(status: int, code: str, **headers: str) -> httpx.Response:
    said = {"title": f"Refused as {code}", "detail": f"because {code}", "errors": [{"detail": "odd", "pointer": "/x"}]}
    body = json.dumps({"code": code, "request_id": "r1", **said})
    shown = {"Content-Type": "application/problem+json", **{name.replace("_", "-"): headers[name] for name in headers}}
    return httpx.Response(status, content=body, headers=shown)


def test_busy_service_is_asked_again_after_the_time_that_it_names(pauses: list[float]) -> None:
    client, wire = client_of(refused(503, "busy", Retry_After="7"), refused(429, "too-many-requests"), ok())
    assert client.selections.get(ID).id == ID
    assert len(wire.requests) == 3
    assert pauses == [7.0, 2.0]


def test_submission_is_sent_again_with_the_same_key(pauses: list[float]) -> None:
    lost = httpx.ReadError("gone")
    client, wire = client_of(lost, refused(409, "idempotency-in-flight", Retry_After="1"), ok(status=202))
    assert client.selections.submit(b"text,label\n", spec={"preset": "quick"}, text_column="text").id == ID
    assert len({request.headers["Idempotency-Key"] for request in wire.requests}) == 1
    assert (
        len({request.content.replace(request.headers["Content-Type"][-32:].encode(), b"") for request in wire.requests})
        == 1
    )
    assert pauses == [1.0, 1.0]


def test_change_of_a_name_whose_answer_was_lost_is_not_sent_again() -> None:
    client, wire = client_of(httpx.ReadError("gone"))
    with pytest.raises(Unreachable, match="PUT /prompts/x"):
        client.prompts.put("x", selection_id=ID, if_version=6)
    assert wire.requests[0].headers["If-Match"] == '"6"'
    client, wire = client_of(httpx.ConnectError("refused"), ok(VERSION))
    assert client.prompts.put("x", selection_id=ID, if_version=6).version == 7


def test_change_of_a_name_that_a_busy_service_may_have_made_is_not_sent_again(pauses: list[float]) -> None:
    client, wire = client_of(refused(503, "unavailable"))
    with pytest.raises(Problem, match="unavailable"):
        client.prompts.put("x", selection_id=ID, if_version=6)
    client, wire = client_of(refused(429, "too-many-requests", Retry_After="900"), ok(VERSION))
    assert client.prompts.put("x", selection_id=ID, if_version=6).version == 7
    assert (len(wire.requests), pauses) == (2, [30.0])


def test_texts_are_asked_again_where_the_name_gets_another_version_meanwhile() -> None:
    def batch(version: int, texts: int) -> httpx.Response:
        one = {"label": "a", "probability": None, "probabilities": None, "answered": True}
        kind = {"kind": "words", "head": "bag_of_words", "form": None, "use": None, "model": None}
        about = {"selection_id": ID, "version": version, "contender": kind, "labels": ["a"]}
        return ok({**about, "answers": [{**one, "input": number} for number in range(texts)]})

    client, _ = client_of(batch(1, 256), batch(2, 44), batch(2, 256), batch(2, 44))
    found = client.prompts.classify("x", ["a"] * 300)
    assert (found.version, [one.input for one in found.answers]) == (2, list(range(300)))


def test_name_whose_version_may_not_be_read_is_not_made() -> None:
    client, wire = client_of(refused(401, "unauthorized"))
    with pytest.raises(Problem, match="unauthorized"):
        client.prompts.put("x", selection_id=ID)
    assert [request.method for request in wire.requests] == ["GET"]


def test_change_names_the_version_that_the_name_has() -> None:
    client, wire = client_of(ok(VERSION, ETag='"7"'), ok({**VERSION, "version": 8}))
    assert client.prompts.put("x", version=3, note="back").version == 8
    assert wire.requests[1].headers["If-Match"] == '"7"'
    assert json.loads(wire.requests[1].content) == {"version": 3, "note": "back"}
    client, wire = client_of(refused(404, NotFound.code), ok(VERSION, 201))
    client.prompts.put("x", selection_id=ID)
    assert wire.requests[1].headers["If-None-Match"] == "*"


def test_answer_with_an_etag_is_kept_until_it_changes() -> None:
    client, wire = client_of(
        ok(ETag='"a"'), httpx.Response(304, headers={"ETag": '"a"'}), ok({**SELECTION, "status": "failed"})
    )
    assert [client.selections.get(ID).status for _ in range(3)] == ["succeeded", "succeeded", "failed"]
    assert [request.headers.get("If-None-Match") for request in wire.requests] == [None, '"a"', '"a"']


def test_service_that_never_answers_is_unreachable(pauses: list[float]) -> None:
    client, wire = client_of(*[httpx.ConnectTimeout("slow")] * 5)
    with pytest.raises(Unreachable):
        client.selections.get(ID)
    assert (len(wire.requests), pauses) == (5, [1.0, 2.0, 4.0, 8.0])


def test_address_without_a_protocol_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="write http:// or https:// before it"):
        LensClient("127.0.0.1:8000")


def test_wait_polls_until_the_end_as_often_as_the_service_asks_for(pauses: list[float]) -> None:
    running = {**SELECTION, "status": "running"}
    seen = list[str]()
    client, _ = client_of(ok(running, Retry_After="3"), ok(running), ok(running, Retry_After="0"), ok())
    assert client.selections.wait(ID, on_change=lambda one: seen.append(one.status)).status == "succeeded"
    assert (seen, pauses) == (["running", "running", "running", "succeeded"], [3.0, 2.0, 0.0])
    client, _ = client_of(ok({**SELECTION, "status": "failed", "error": {"detail": "no memory"}}))
    with pytest.raises(NotSucceeded, match="ended as failed: no memory") as failure:
        client.selections.wait(ID)
    assert failure.value.job.status == "failed"


def test_wait_ends_at_its_timeout_and_looks_once_more_then(pauses: list[float]) -> None:
    running = {**SELECTION, "status": "running"}
    client, _ = client_of(ok(running, Retry_After="60"), ok())
    assert client.selections.wait(ID, timeout=5.0).status == "succeeded"
    assert pauses == [pytest.approx(5.0, abs=0.5)]
    client, _ = client_of(ok(running, Retry_After="60"))
    with pytest.raises(TimedOut):
        client.selections.wait(ID, timeout=0.0)


def test_refusal_has_all_that_the_service_says() -> None:
    client, _ = client_of(*[refused(503, "storage-full", Retry_After="5")] * 5)
    with pytest.raises(Problem, match=r"because storage-full \(storage-full\)") as caught:
        client.selections.get(ID)
    found = {name: value for name, value in vars(caught.value).items() if not name.startswith("_")}
    assert found == {
        "status": 503,
        "code": "storage-full",
        "title": "Refused as storage-full",
        "detail": "because storage-full",
        "errors": [{"detail": "odd", "pointer": "/x"}],
        "request_id": "r1",
        "retry_after": 5.0,
    }


@pytest.mark.parametrize("body", [b"<html>", b'{"cut', b"[]"])
def test_error_of_a_proxy_is_a_problem_without_a_code(body: bytes) -> None:
    answer = httpx.Response(502, content=body, headers={"Content-Type": "application/json"})
    client, _ = client_of(answer)
    with pytest.raises(Problem, match="502 Bad Gateway") as caught:
        client.selections.get(ID)
    problem = caught.value
    assert (problem.code, problem.errors, problem.request_id, problem.retry_after) == ("", [], None, None)


def test_pages_are_followed() -> None:
    def page(items: list[Any], cursor: str | None) -> httpx.Response:
        return ok({"items": items, "next": cursor})

    client, wire = client_of(page([SELECTION] * 2, "c1"), page([SELECTION], None))
    assert len(client.selections.list(status="succeeded")) == 3
    assert dict(wire.requests[1].url.params) == {"cursor": "c1", "status": "succeeded"}
    client, wire = client_of(page([SELECTION] * 2, "c1"))
    assert len(client.selections.list(most=1)) == 1


def test_async_client_does_the_same(pauses: list[float]) -> None:
    wire = Wire(refused(503, "busy", Retry_After="2"), httpx.ReadError("gone"), ok(ETag='"a"'), httpx.Response(304))

    async def read() -> list[str]:
        async with AsyncLensClient("http://lens", api_key="k", transport=httpx.MockTransport(wire)) as client:
            return [(await client.selections.get(ID)).status for _ in range(2)]

    assert asyncio.run(read()) == ["succeeded", "succeeded"]
    assert pauses == [2.0, 2.0]
    assert wire.requests[0].headers["Authorization"] == "Bearer k"


@pytest.mark.parametrize(
    ("name", "path"), [("a#old", "/prompts/a%23old"), ("a/b?c", "/prompts/a%2Fb%3Fc"), ("../x", "/prompts/..%2Fx")]
)
def test_name_is_never_read_as_another_path(name: str, path: str) -> None:
    client, wire = client_of(ok(VERSION, ETag='"7"'))
    client.prompts.get(name)
    assert wire.requests[0].url.raw_path.decode() == path
    for no_name in ("", ".", ".."):
        with pytest.raises(ValueError, match="is no name or id"):
            client.prompts.delete(no_name, if_version=1)


def test_test_file_without_a_dataset_file_is_not_dropped() -> None:
    client, wire = client_of()
    with pytest.raises(TypeError, match="test_examples"):
        client.selections.submit(test=b"text,label", examples=[])
    assert wire.requests == []


@pytest.mark.parametrize("wait", ["nan", "-1", "inf", "soon"])
def test_odd_time_to_wait_and_a_redirect_are_survived(wait: str, pauses: list[float]) -> None:
    client, _ = client_of(refused(503, "busy", Retry_After=wait), httpx.Response(307, headers={"Location": "/x"}))
    with pytest.raises(Problem, match="307"):
        client.selections.get(ID)
    assert pauses == [1.0]
