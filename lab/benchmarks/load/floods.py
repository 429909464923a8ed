"""What a hostile client sends: headers without end, lists of large specs, bodies of many fields, slow bodies."""

import asyncio
import json
import time
from collections.abc import Callable, Coroutine

from app.selections.openapi import EXAMPLE_SUBMISSION
from lab.benchmarks.load.client import Connection, write_request
from lab.benchmarks.load.measures import Times
from lab.benchmarks.load.servers import Server

Flood = Callable[[Server, float], Coroutine[None, None, None]]
"""Sends for a number of seconds."""

_AT_ONCE = 8
_SLOW_SOCKETS = 24
_PROBES_A_SECOND = 20
_LARGE_TEMPLATE = "{text}" + "x" * 19_000 + "{label}"
_MANY_FIELDS = ("{" + ",".join(f'"k{number}": 1' for number in range(36_000)) + "}").encode()
_JSON = {"Content_Type": "application/json"}


async def probe(server: Server, seconds: float, times: Times) -> None:
    """Ask whether the server lives, twenty times a second, each over a connection that is held."""
    connection, request = Connection(server.port), write_request("GET", server.probe)
    ends = time.monotonic() + seconds
    due = time.monotonic()
    while due < ends:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        times.note(time.monotonic() - due, (await connection.send(request)).status)
        due += 1 / _PROBES_A_SECOND
    connection.close()


async def send_headers_without_end(server: Server, seconds: float) -> None:
    """Small headers on one socket after another, none of which ever ends its headers."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(f"GET {server.probe} HTTP/1.1\r\nHost: localhost\r\n".encode())
        try:
            while time.monotonic() < ends:
                writer.write(b"X-Flood: 0123456789\r\n" * 3000)
                await writer.drain()
        except OSError:
            pass  # the server has had enough
        writer.close()


async def list_large_specs(server: Server, seconds: float) -> None:
    """The longest page of selections with the longest templates, eight times at once."""
    body = json.dumps({**EXAMPLE_SUBMISSION, "spec": {**EXAMPLE_SUBMISSION["spec"], "template": _LARGE_TEMPLATE}})
    connection = Connection(server.port)
    for _ in range(200):
        await connection.send(write_request("POST", "/selections", body.encode(), **_JSON))
    connection.close()
    await _repeat(server, seconds, write_request("GET", "/selections?limit=200"))


async def render_many_fields(server: Server, seconds: float) -> None:
    """Bodies of 36,000 unknown fields, just below the limit of a body, eight at once."""
    path = "/selections/sel_01jd0000000000000000000000/render"
    await _repeat(server, seconds, write_request("POST", path, _MANY_FIELDS, **_JSON))


async def send_bodies_slowly(server: Server, seconds: float) -> None:
    """Submissions that send a byte a second."""

    async def one() -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(write_request("POST", "/selections", b"", Content_Length="100000", **_JSON)[:-2] + b"\r\n{")
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and not writer.is_closing():
            writer.write(b" ")
            await asyncio.sleep(1.0)
        writer.close()

    await asyncio.gather(*(one() for _ in range(_SLOW_SOCKETS)))


async def _repeat(server: Server, seconds: float, request: bytes) -> None:
    ends = time.monotonic() + seconds

    async def one() -> None:
        connection = Connection(server.port)
        while time.monotonic() < ends:
            await connection.send(request)
        connection.close()

    await asyncio.gather(*(one() for _ in range(_AT_ONCE)))


FLOODS: dict[str, Flood] = {
    "headers without end": send_headers_without_end,
    "lists of large specs": list_large_specs,
    "bodies of many fields": render_many_fields,
    "bodies that never end": send_bodies_slowly,
}
