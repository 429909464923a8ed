"""A submission that is refused because others are in work, and requests that are not."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from app.main import close_app, create_app
from app.selections.receiving import Admission
from app.settings import Settings
from tests.integration.conftest import MakeClient
from tests.integration.samples import make_csv, make_spec, make_submission, problem_of

BODY = json.dumps(make_submission()).encode()
HEADERS = {"Content-Type": "application/json"}


class Service:
    """The app on the event loop of the test, so that requests overlap."""

    def __init__(self, settings: Settings, **changes: int) -> None:
        self._app = create_app(settings.model_copy(update=changes))
        self._transport = httpx.ASGITransport(self._app)

    @property
    def admission(self) -> Admission:
        found: Admission = self._app.state.admission
        return found

    async def __aenter__(self) -> httpx.AsyncClient:
        self._client = httpx.AsyncClient(transport=self._transport, base_url="http://localhost", timeout=20)
        return self._client

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()
        close_app(self._app)


class SlowBody:
    """A submission that stops in the middle of its body until `end` is called."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._has_begun, self._may_end = asyncio.Event(), asyncio.Event()
        self._response = asyncio.create_task(client.post("/selections", content=self._chunks(), headers=HEADERS))

    async def begin(self) -> None:
        await self._has_begun.wait()

    async def end(self) -> httpx.Response:
        self._may_end.set()
        return await self._response

    async def cancel(self) -> httpx.Response:
        """Do what uvicorn does to requests under way when it has waited long enough for them."""
        self._response.cancel()
        return await self._response

    async def _chunks(self) -> AsyncIterator[bytes]:
        yield BODY[:100]
        self._has_begun.set()
        await self._may_end.wait()
        yield BODY[100:]


async def begin_slow_bodies(client: httpx.AsyncClient, number: int) -> list[SlowBody]:
    bodies = [SlowBody(client) for _ in range(number)]
    for body in bodies:
        await body.begin()
    return bodies


def test_submission_too_many_is_busy_and_others_go_on(settings: Settings) -> None:
    async def submit() -> None:
        async with Service(settings, max_submissions=1, max_waiting_submissions=1) as client:
            first, second = await begin_slow_bodies(client, 2)

            refused = await client.post("/selections", content=BODY, headers=HEADERS)
            problem = problem_of(refused, 503, "busy")
            assert "nothing of this one was read" in problem["detail"]
            assert refused.headers["retry-after"] == "5"
            assert (await client.get("/selections")).json()["items"] == []

            assert (await first.end()).status_code == 202
            assert (await client.post("/selections", content=BODY, headers=HEADERS)).status_code == 202
            assert (await second.end()).status_code == 202
            assert len((await client.get("/selections")).json()["items"]) == 3

    asyncio.run(submit())


def test_client_that_sends_slowly_holds_no_place(settings: Settings) -> None:
    async def submit() -> None:
        async with Service(settings, max_submissions=1, max_waiting_submissions=2) as client:
            (slow,) = await begin_slow_bodies(client, 1)
            form: dict[str, Any] = {"files": {"dataset": make_csv()}, "data": {"spec": json.dumps(make_spec())}}

            assert (await client.post("/selections", **form)).status_code == 202
            assert (await slow.end()).status_code == 202

    asyncio.run(submit())


def test_body_that_does_not_arrive_in_time_is_refused(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.selections.form._BODY_SECONDS", 0.3)

    async def submit() -> None:
        async with Service(settings, max_submissions=1, max_waiting_submissions=0) as client:
            (slow,) = await begin_slow_bodies(client, 1)
            await asyncio.sleep(0.5)
            assert "of the body arrived in" in problem_of(await slow.end(), 400, "bad-request")["detail"]
            assert (await client.post("/selections", content=BODY, headers=HEADERS)).status_code == 202

    asyncio.run(submit())


def test_submission_that_a_stop_cuts_off_is_to_be_repeated(settings: Settings) -> None:
    async def submit() -> None:
        async with Service(settings, max_submissions=1, max_waiting_submissions=0) as client:
            (slow,) = await begin_slow_bodies(client, 1)
            cut_off = await slow.cancel()
            assert "Idempotency-Key" in problem_of(cut_off, 503, "unavailable")["detail"]
            assert cut_off.headers["retry-after"] == "5"
            assert (await client.post("/selections", content=BODY, headers=HEADERS)).status_code == 202

    asyncio.run(submit())


async def store(client: httpx.AsyncClient, num_rows: int) -> str:
    rows = [{"text": f"message {row} {'about nothing ' * 10}", "label": "ab"[row % 2]} for row in range(num_rows)]
    stored = await client.post("/datasets", json={"examples": rows})
    assert stored.status_code == 201, stored.text
    return str(stored.json()["id"])


def test_small_stored_dataset_waits_for_no_large_work(settings: Settings) -> None:
    service = Service(settings)

    async def submit() -> None:
        async with service as client:
            small, large = await store(client, 60), await store(client, 1000)
            async with service.admission.take_place(is_large=True):
                assert (await submit_of(client, small)).status_code == 202
                shown = await client.post("/pages/submit", data={"dataset_id": small})
                assert shown.status_code == 200, shown.text
                waiting = asyncio.create_task(submit_of(client, large))
                while service.admission.num_waiting == 0:
                    await asyncio.sleep(0.01)
            assert (await waiting).status_code == 202

    async def submit_of(client: httpx.AsyncClient, dataset_id: str) -> httpx.Response:
        return await client.post("/selections", json={"spec": {}, "dataset_id": dataset_id})

    asyncio.run(submit())


REFUSED: list[tuple[int, dict[str, Any]]] = [
    (400, {"content": b"{", "headers": HEADERS}),
    (400, {"content": b"--e", "headers": {"Content-Type": "multipart/form-data; boundary=e"}}),
    (400, {"content": BODY, "headers": HEADERS | {"Idempotency-Key": "with space"}}),
    (413, {"content": b" " * 100_000, "headers": HEADERS}),
    (413, {"content": [b" " * 50_000] * 2, "headers": HEADERS}),
    (415, {"content": b"x"}),
    (422, {"content": b"{}", "headers": HEADERS}),
    (422, {"files": {"dataset": b"text,label\n"}, "data": {"spec": json.dumps(make_spec())}}),
]


@pytest.mark.parametrize(("status", "request_"), REFUSED)
def test_refusal_gives_its_place_back(make_client: MakeClient, status: int, request_: dict[str, Any]) -> None:
    client = make_client(max_submissions=1, max_waiting_submissions=0, max_json_bytes=99_999)

    assert client.post("/selections", **request_).status_code == status
    assert client.post("/selections", content=BODY, headers=HEADERS).status_code == 202
