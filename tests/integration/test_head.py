"""HEAD says what GET says, but for the body."""

import asyncio
from collections.abc import Mapping
from typing import Any, Never

from tests.integration.asgi import make_scope
from tests.integration.conftest import Selections

PATHS: list[tuple[int, str, Mapping[str, str]]] = [
    *((200, path, {}) for path in ("/", "/healthz", "/openapi.json", "/selections")),
    (200, "/selections/{id}/result", {}),
    (200, "/pages/selections", {"HX-Request": "true"}),
    (200, "/selections/{id}/events", {}),
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
    selection_id = selections.succeeded()
    for status, path, headers in PATHS:
        where = path.format(id=selection_id)
        head = ask(selections.client.app, "HEAD", where, headers)
        assert head == (status, ask(selections.client.app, "GET", where, headers)[1], [{"type": "http.response.body"}])
