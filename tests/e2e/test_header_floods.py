"""A client without a key cannot fill the memory of the API, or hold it up, by headers that never end."""

import select
import socket

import psutil

from tests.e2e.processes import Process, status_at

MOST_SENT = 32 * 2**20
"""Bytes that the flood sends if nothing refuses it."""

MOST_GROWTH = 16 * 2**20
"""Bytes by which the resident memory of the API may grow."""


def test_endless_headers_are_refused_in_little_memory(second_api: Process, port: int) -> None:
    """Many headers, and one that does not end."""
    api = psutil.Process(second_api.pid)
    for opening, chunk in ((b"", b"X-Filler: " + b"a" * 100 + b"\r\n"), (b"X-Filler: ", b"a" * 112)):
        before = api.memory_info().rss

        assert is_refused(port, opening, chunk * 600)

        assert api.memory_info().rss - before < MOST_GROWTH
        assert status_at(port, "/healthz") == 200


def is_refused(port: int, opening: bytes, chunk: bytes) -> bool:
    """Whether the server answers 400, or closes the connection, before all is sent."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(b"GET /selections HTTP/1.1\r\nHost: localhost\r\n" + opening)
        try:
            for _ in range(MOST_SENT // len(chunk)):
                connection.sendall(chunk)
                if select.select([connection], [], [], 0.005)[0]:
                    return connection.recv(12) in (b"HTTP/1.1 400", b"")
        except ConnectionError:
            return True
    return False
