"""Servers that answer too much, too slowly or too deeply: each costs its own job, and little memory."""

import gzip
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pytest

from lens_engine.errors import EndpointAway, EndpointError
from lens_engine.model.servers import transport
from lens_engine.model.servers.address import Endpoint
from lens_engine.model.servers.transport import Transport
from lens_engine.model.spending import Spending

MIB = 1 << 20
PIECE = b" " * (1 << 16)
Say = Callable[[socket.socket], None]


@contextmanager
def asking(say: Say) -> Iterator[Transport]:
    """A transport to a server that reads a request, and then says what it likes."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)

    def answer(connection: socket.socket) -> None:
        with connection, suppress(OSError):  # the client may hang up
            connection.recv(1 << 16)
            say(connection)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 16):  # closed with unread bytes, a socket takes back what it said
                pass

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with listener, closing(Transport(Endpoint("vllm", url, "m"), Spending(None))) as asked:
        yield asked


def saying(body: bytes, status: str = "200 OK", **headers: str) -> Say:
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{lines}\r\n".encode()
    return lambda connection: connection.sendall(head + body)


def say_without_end(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    while True:
        connection.sendall(PIECE)


def drip(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    while True:
        connection.sendall(b" ")
        time.sleep(0.05)


def refused(why: str) -> Any:
    return pytest.raises(EndpointError, match=why)


def ask(asked: Transport) -> Any:
    return asked.wait(asked.start(asked.post("/x", {}, tokens=1)))


def bomb() -> bytes:
    """250 MiB of spaces in 1.1 MB."""
    packer = zlib.compressobj(1, wbits=zlib.MAX_WBITS | 16)
    return b"".join([*(packer.compress(b" " * MIB) for _ in range(250)), packer.flush()])


def test_answer_without_end_is_cut_off() -> None:
    with asking(say_without_end) as asked, refused("more than 8 MiB"):
        ask(asked)


def test_packed_answer_is_bounded_by_its_unpacked_size() -> None:
    packed = bomb()
    with asking(saying(packed, Content_Encoding="gzip")) as asked, refused("more than 8 MiB"):
        ask(asked)


def test_packed_answer_within_the_bound_is_read() -> None:
    with asking(saying(gzip.compress(b'{"a": 1}'), Content_Encoding="gzip")) as asked:
        assert ask(asked) == {"a": 1}


@pytest.mark.parametrize(
    ("body", "packing"),
    [(b"?", "br"), (gzip.compress(b"busy"), "gzip"), (b"x" * 9 * MIB, "identity")],
    ids=["br", "gzip", "identity"],  # bytes of gzip have the time: processes would name the test otherwise
)
def test_server_that_is_away_is_asked_again(body: bytes, packing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_ATTEMPTS", 2)
    away = saying(body, status="503 Service Unavailable", Content_Encoding=packing)
    with asking(away) as asked, pytest.raises(EndpointAway, match="status 503, after 2 attempts"):
        ask(asked)


def test_what_says_to_be_packed_and_is_not_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_ATTEMPTS", 1)
    with asking(saying(b'{"a": 1}', Content_Encoding="gzip")) as asked, pytest.raises(EndpointAway, match="Decoding"):
        ask(asked)


@pytest.mark.parametrize(
    "body", [b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000, b"1" * 10_000, b"\xff\xfe{", b"<html>", b"1", b'"x"']
)
def test_answer_that_cannot_be_parsed_is_the_server_s_fault(body: bytes) -> None:
    with asking(saying(body)) as asked, pytest.raises(EndpointError, match="no JSON object"):
        ask(asked)


def test_answer_that_drips_ends_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_ANSWER_SECONDS", 0.5)
    monkeypatch.setattr(transport, "_ASKED_SECONDS", 0.8)
    with asking(drip) as asked, pytest.raises(EndpointAway, match="TimeoutError, after 2 attempts"):
        ask(asked)


def test_cookies_are_not_kept() -> None:
    with asking(saying(b'{"a": 1}', Set_Cookie="a=b")) as asked:
        ask(asked)
        assert not asked._client.cookies


def test_what_a_server_says_is_apart_from_the_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-abcdefghijkl")
    said = b"bad key sk-abc***jkl, Bearer xyz, at db.internal:5432"
    head = f"HTTP/1.1 401 No\r\nContent-Length: {len(said)}\r\nConnection: close\r\n\r\n".encode()
    with asking(lambda connection: connection.sendall(head + said)) as other:
        endpoint = Endpoint("vllm", other._url, "m", key_variable="MY_KEY")
        told = closing(Transport(endpoint, Spending(None), "the server of 'm'"))
        with told as asked, pytest.raises(EndpointError) as caught:
            ask(asked)
    assert caught.value.said == "bad key [key], Bearer [key] at db.internal:5432"
    assert caught.value.sentence == (
        "the server of 'm' refuses /x with status 401; the key is missing or wrong; name the environment variable that "
        "holds it"
    )
