"""A TCP proxy in front of a Unix socket that can be slow, silent, narrow or cut: a network that fails on demand."""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_CHUNK_BYTES = 65_536
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER of 0 s: close sends RST


@dataclass(frozen=True, slots=True)
class Weather:
    """What happens to the bytes of a proxy. The default lets them pass."""

    latency_seconds: float = 0.0  #: of each chunk, in each direction
    bytes_per_second: float | None = None
    is_silent: bool = False  #: a black hole: bytes and new connections wait until the weather changes
    is_refusing: bool = False  #: new connections are reset
    close_seconds: float = 0.0  #: how long the end of one side is kept from the other


CALM = Weather()


class Proxy:
    """One listening port. Call its methods from the thread of its event loop."""

    def __init__(self, upstream: Path) -> None:
        self.port = 0
        self._upstream = upstream
        self._weather = CALM
        self._has_changed = asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self.cut()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def change(self, weather: Weather) -> None:
        self._weather = weather
        self._has_changed.set()
        self._has_changed = asyncio.Event()

    def cut(self) -> None:
        """Reset every connection."""
        for writer in list(self._writers):
            _reset(writer)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        try:
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await self._join(reader, writer)
        finally:
            _reset(writer)
            self._writers.discard(writer)
            self._tasks.discard(task)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._weather.is_refusing:
            return
        await self._wait_out_silence()
        upstream_reader, upstream_writer = await asyncio.open_unix_connection(str(self._upstream))
        self._writers.add(upstream_writer)
        try:
            await asyncio.gather(self._pump(reader, upstream_writer), self._pump(upstream_reader, writer))
        finally:
            _reset(upstream_writer)
            self._writers.discard(upstream_writer)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(_CHUNK_BYTES):
            await asyncio.sleep(self._weather.latency_seconds)
            if self._weather.bytes_per_second is not None:
                await asyncio.sleep(len(data) / self._weather.bytes_per_second)
            await self._wait_out_silence()
            writer.write(data)
            await writer.drain()
        await asyncio.sleep(self._weather.close_seconds)
        await self._wait_out_silence()
        writer.write_eof()

    async def _wait_out_silence(self) -> None:
        while self._weather.is_silent:
            await self._has_changed.wait()


class Network:
    """Proxies in a thread of their own. Its methods may be called from any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="network", daemon=True)
        self._proxies: list[Proxy] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for proxy in self._proxies:
            self._run(proxy.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def add(self, upstream: Path) -> Proxy:
        async def make() -> Proxy:
            proxy = Proxy(upstream)
            await proxy.open()
            return proxy

        proxy: Proxy = self._run(make())
        self._proxies.append(proxy)
        return proxy

    def change(self, proxy: Proxy, weather: Weather) -> None:
        self._call(lambda: proxy.change(weather))

    def cut(self, proxy: Proxy) -> None:
        self._call(proxy.cut)

    def _call(self, act: Callable[[], None]) -> None:
        async def run() -> None:
            act()

        self._run(run())

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close at once; with RST where the socket is one of TCP."""
    transport = writer.transport
    peer: socket.socket | None = transport.get_extra_info("socket")
    if peer is not None and peer.family == socket.AF_INET and not transport.is_closing():
        with contextlib.suppress(OSError):
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    transport.abort()
