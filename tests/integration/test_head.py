"""HEAD says what GET says, but for the body."""

import asyncio
from collections.abc import Mapping
from typing import Any, Never

from app.jobs.streaming import MEDIA_TYPE

from tests.integration.asgi import make_scope
from tests.integration.conftest import Selections, run_sql

HTMX, STREAM = {"HX-Request": "true"}, {"Accept": MEDIA_TYPE}
PATHS: list[tuple[str, Mapping[str, str], int]] = [
    *((path, {}, 200) for path in ("/", "/healthz", "/docs", "/openapi.json", "/selections", "/selections/{id}")),
    ("/selections/{id}/result", {}, 200),
    ("/selections/{id}/result", {"If-None-Match": "*"}, 304),
    ("/selections/{id}/events", STREAM, 200),
    ("/predictions/{prediction}/output", {}, 200),
    ("/pages/selections", HTMX, 200),
    ("/docs/assets/favicon.png", {}, 200),
    ("/selections/sel_01jd0000000000000000000000", {}, 404),
    ("/selections/{id}/cancel", {}, 405),
    ("/nowhere", {}, 404),
]


def ask(app: Any, method: str, path: str, headers: Mapping[str, str]) -> tuple[int, dict[str, str], list[bytes]]:
    """Status, headers and the pieces of the body, as the server of the application gets them."""
    sent: list[Any] = []

    async def receive() -> Never:
        await asyncio.Event().wait()  # a client that neither sends nor leaves
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(asyncio.wait_for(app(make_scope(method, path, headers), receive, send), 30))
    kept = {name.decode(): value.decode() for name, value in sent[0]["headers"] if name != b"x-request-id"}
    assert [message.get("more_body", False) for message in sent[1:]][-1:] == [False]
    return sent[0]["status"], kept, [message.get("body", b"") for message in sent[1:]]


def test_head_has_the_status_and_headers_of_get(selections: Selections) -> None:
    selection_id, prediction_id = selections.asked("prediction")
    run_sql(selections.database, f"UPDATE jobs SET status = 'succeeded' WHERE id = '{prediction_id}'")
    app = selections.client.app
    for path, headers, status in PATHS:
        where = path.format(id=selection_id, prediction=prediction_id)
        got, head = ask(app, "GET", where, headers), ask(app, "HEAD", where, headers)
        assert (head[0], head[2]) == (status, [b""]), path
        assert head[:2] == got[:2], path


def test_head_of_a_stream_ends_and_holds_no_place(selections: Selections) -> None:
    app: Any = selections.client.app
    status, headers, body = ask(app, "HEAD", f"/selections/{selections.running().job_id}/events", STREAM)
    assert (status, headers["content-type"].partition(";")[0], body) == (200, MEDIA_TYPE, [b""])
    assert app.state.streams.num_open == 0
