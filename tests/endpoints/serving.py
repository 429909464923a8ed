"""Serves a double on this machine. It needs no torch."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

import uvicorn
from starlette.applications import Starlette


class Served(Protocol):
    url: str

    def app(self) -> Starlette: ...


S = TypeVar("S", bound=Served)


@contextmanager
def serving(double: S, port: int = 0) -> Iterator[S]:
    """Serve a double on this machine, in a thread; `double.url` is its address."""
    listener = socket.create_server(("127.0.0.1", port))
    double.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(double.app(), log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    try:
        yield double
    finally:
        server.should_exit = server.force_exit = True
        thread.join()
        listener.close()
