"""HEAD says what GET says, but for the body."""

import asyncio
from collections.abc import Mapping
from typing import Any, Never

from app.jobs.streaming import MEDIA_TYPE
from tests.integration.asgi import make_scope
from tests.integration.conftest import Selections, run_sql

STREAM = {"Accept": MEDIA_TYPE}
PATHS: list[tuple[int, str, Mapping[str, str]]] = [
    *((200, path, {}) for path in ("/", "/healthz", "/openapi.json", "/docs/assets/favicon.png", "/selections")),
    *((200, path, {}) for path in ("/selections/{id}/result", "/predictions/{prediction}/output")),
    (200, "/pages/selections", {"HX-Request": "true"}),
    (200, "/selections/{id}/events", STREAM),
    (304, "/selections/{id}/result", {"If-None-Match": "*"}),
    (404, "/selections/sel_01jd0000000000000000000000", {}),
    (405, "/selections/{id}/cancel", {}),
]


def ask(app: Any, method: str, path: str, headers: Mapping[str, str]) -> tuple[int, dict[bytes, bytes], list[Any]]:
    """Status, headers and the messages of the body, as the server of the application gets them."""
    sent: list[Any] = []

    async def receive() -> Never:
        while True:  # a client that neither sends nor leaves
            await asyncio.sleep(60)

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(asyncio.wait_for(app(make_scope(method, path, headers), receive, send), 30))
    return sent[0]["status"], dict(sent[0]["headers"]) | {b"x-request-id": b""}, sent[1:]


def test_head_has_the_status_and_headers_of_get(selections: Selections) -> None:
    selection_id, prediction_id = selections.asked("prediction")
    run_sql(selections.database, f"UPDATE jobs SET status = 'succeeded' WHERE id = '{prediction_id}'")
    for status, path, headers in PATHS:
        where = path.format(id=selection_id, prediction=prediction_id)
        head = ask(selections.client.app, "HEAD", where, headers)
        assert head == (status, ask(selections.client.app, "GET", where, headers)[1], [{"type": "http.response.body"}])


def test_head_of_a_stream_ends_and_holds_no_place(selections: Selections) -> None:
    app: Any = selections.client.app
    status, headers, _ = ask(app, "HEAD", f"/selections/{selections.running().job_id}/events", STREAM)
    assert (status, headers[b"content-type"].decode().partition(";")[0]) == (200, MEDIA_TYPE)
    assert app.state.streams.num_open == 0
