"""A server that stops: with exit code 0, and without waiting for clients that do not read."""

import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.web.draining import READER_SECONDS
from lens_cli.service.embedded import Child, ChildSpec
from tests.e2e.waiting import until
from tests.ports import reserve_port

NUM_BYTES = 32 * 2**20
"""More than the kernel keeps of both ends of a connection."""

ROOT = Path(__file__).parents[2]
SERVER = f"""
import sys, uvicorn
from app.web.draining import DRAINING, DrainingServer
from threading import Event

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        scope["state"][DRAINING] = Event()
        await send({{"type": "lifespan.startup.complete"}})
        await receive()
        await send({{"type": "lifespan.shutdown.complete"}})
        return
    await send({{"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"{NUM_BYTES}")]}})
    for _ in range({NUM_BYTES} // 65536):
        await send({{"type": "http.response.body", "body": bytes(65536), "more_body": True}})
    await send({{"type": "http.response.body", "body": b""}})

config = uvicorn.Config(app, port=int(sys.argv[1]), http="h11", timeout_graceful_shutdown=60)
DrainingServer(config, 0).run()
"""


@pytest.fixture
def port() -> int:
    return reserve_port()


@pytest.fixture
def server(tmp_path: Path, port: int) -> Iterator[Child]:
    (tmp_path / "server.py").write_text(SERVER)
    command = [sys.executable, str(tmp_path / "server.py"), str(port)]
    child = Child(ChildSpec("server", command, tmp_path / "log", environment={"PYTHONPATH": str(ROOT)}))
    until(lambda: "running on" in child.read_log_tail(), "the server listens")
    yield child
    child.stop()


def ask(port: int) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port), timeout=30)
    client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    client.recv(1)
    return client


def test_client_that_does_not_read_does_not_hold_the_server(server: Child, port: int) -> None:
    with ask(port):
        time.sleep(0.5)  # the server fills what the kernel keeps
        started = time.monotonic()
        os.kill(server.pid, signal.SIGTERM)
        assert server.wait(40) == 0, server.read_log_tail()
        assert READER_SECONDS <= time.monotonic() - started < 30


def test_client_that_reads_gets_its_whole_answer(server: Child, port: int) -> None:
    with ask(port) as client:
        os.kill(server.pid, signal.SIGTERM)
        num_bytes, started = 0, time.monotonic()
        while chunk := client.recv(2**16):
            num_bytes += len(chunk)
            if num_bytes < NUM_BYTES // 2 and time.monotonic() - started < READER_SECONDS + 2:
                time.sleep(0.05)
        assert num_bytes > NUM_BYTES
        assert server.wait(40) == 0, server.read_log_tail()
