"""The proxy that stands for a network that fails on demand."""

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.proxy import CALM, Proxy, Weather, running_network


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    """A proxy in front of a server that sends back what it gets."""
    path = tmp_path / "echo"
    with running_network() as network, socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        threading.Thread(target=_echo_all, args=[server], daemon=True).start()
        yield network(path)


def test_bytes_pass_in_both_directions(proxy: Proxy) -> None:
    with _connect(proxy) as client:
        assert _ask(client, b"x" * 200_000) == b"x" * 200_000


def test_latency_delays_each_direction(proxy: Proxy) -> None:
    proxy.change(Weather(latency_seconds=0.2))
    with _connect(proxy) as client:
        started = time.monotonic()
        assert _ask(client, b"hello") == b"hello"
        assert time.monotonic() - started >= 0.4


def test_silence_keeps_bytes_until_it_ends(proxy: Proxy) -> None:
    with _connect(proxy) as client:
        assert _ask(client, b"before") == b"before"
        proxy.change(Weather(is_silent=True))
        client.settimeout(0.3)
        client.sendall(b"during")
        with pytest.raises(TimeoutError):
            client.recv(100)
        proxy.change(CALM)
        client.settimeout(10)
        assert client.recv(100) == b"during"


def test_a_cut_resets_open_connections_and_lets_new_ones_in(proxy: Proxy) -> None:
    with _connect(proxy) as client:
        assert _ask(client, b"before") == b"before"
        proxy.cut()
        with pytest.raises(ConnectionResetError):
            client.recv(100)
    with _connect(proxy) as client:
        assert _ask(client, b"after") == b"after"


def test_a_refusing_proxy_resets_new_connections(proxy: Proxy) -> None:
    proxy.change(Weather(is_refusing=True))
    with pytest.raises(ConnectionResetError), _connect(proxy) as client:
        client.recv(100)


def test_the_end_of_one_side_lingers(proxy: Proxy) -> None:
    proxy.change(Weather(close_seconds=0.3))
    with _connect(proxy) as client:
        started = time.monotonic()
        client.shutdown(socket.SHUT_WR)
        assert client.recv(100) == b""
        assert time.monotonic() - started >= 0.3


def _connect(proxy: Proxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=10)


def _ask(client: socket.socket, question: bytes) -> bytes:
    threading.Thread(target=client.sendall, args=[question], daemon=True).start()
    answer = b""
    while len(answer) < len(question):
        answer += client.recv(65_536)
    return answer


def _echo_all(server: socket.socket) -> None:
    while True:
        try:
            client, _ = server.accept()
        except OSError:
            return
        threading.Thread(target=_echo, args=[client], daemon=True).start()


def _echo(client: socket.socket) -> None:
    with client:
        while data := client.recv(65_536):
            client.sendall(data)
