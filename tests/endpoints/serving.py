"""Serves a double on this machine. It needs no torch."""

import asyncio
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


class _Server(uvicorn.Server):
    """Ends at once, where uvicorn looks ten times a second whether it should, and then waits once more."""

    async def main_loop(self) -> None:
        while not self.should_exit:
            await asyncio.sleep(0.005)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002 - one listens
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await asyncio.sleep(0)


@contextmanager
def serving(double: S, port: int = 0) -> Iterator[S]:
    """Serve a double on this machine, in a thread; `double.url` is its address."""
    listener = socket.create_server(("127.0.0.1", port))
    double.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = _Server(uvicorn.Config(double.app(), log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    try:
        yield double
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
