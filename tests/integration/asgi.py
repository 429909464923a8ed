"""Calls the application as a server does, for what no client can send."""

import asyncio
from collections.abc import Mapping
from typing import Any


def call(
    app: Any, method: str, path: str, headers: Mapping[str, str], state: Mapping[str, Any] | None = None
) -> tuple[list[Any], int]:
    """What the application sends, and how often it asked for the body, which has no end.

    Args:
        state: what the server tells each request.
    """
    sent: list[Any] = []
    asked = 0

    async def receive() -> Any:
        nonlocal asked
        asked += 1
        return {"type": "http.request", "body": b"x" * 1000, "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(make_scope(method, path, headers, state), receive, send))
    return sent, asked


def make_scope(
    method: str, path: str, headers: Mapping[str, str], state: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A request for a path without a query, from this machine."""
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "state": dict(state or {}),
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "headers": [
            (name.lower().encode(), value.encode()) for name, value in {"Host": "localhost", **headers}.items()
        ],
    }
