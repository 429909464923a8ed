"""A TCP proxy in front of a Unix socket that can be slow, silent or cut: a network that fails on demand."""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

_CHUNK_BYTES = 65_536
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER of 0 s: close sends RST


@dataclass(frozen=True, slots=True)
class Weather:
    """What happens to the bytes of a proxy. The default lets them pass."""

    latency_seconds: float = 0.0  #: of each chunk, in each direction
    is_silent: bool = False  #: a black hole: bytes and new connections wait until the weather changes
    is_refusing: bool = False  #: new connections are reset
    close_seconds: float = 0.0  #: how long the end of one side is kept from the other


CALM = Weather()


class Proxy:
    """One listening port. `change` and `cut` may be called from any thread, all else from that of the event loop."""

    def __init__(self, upstream: Path) -> None:
        self.port = 0
        self._loop = asyncio.get_running_loop()
        self._upstream = upstream
        self._weather = CALM
        self._has_changed = asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    def change(self, weather: Weather) -> None:
        self._call(lambda: self._change(weather))

    def cut(self) -> None:
        """Reset every connection."""
        self._call(self._cut)

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self._cut()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _call(self, act: Callable[[], None]) -> None:
        async def run() -> None:
            act()

        asyncio.run_coroutine_threadsafe(run(), self._loop).result(10)

    def _change(self, weather: Weather) -> None:
        self._weather = weather
        self._has_changed.set()
        self._has_changed = asyncio.Event()

    def _cut(self) -> None:
        for writer in list(self._writers):
            _reset(writer)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with self._kept(writer), contextlib.suppress(OSError, asyncio.CancelledError):
            await self._join(reader, writer)
        self._tasks.discard(task)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._weather.is_refusing:
            return
        await self._wait_out_silence()
        upstream_reader, upstream_writer = await asyncio.open_unix_connection(str(self._upstream))
        with self._kept(upstream_writer):
            await asyncio.gather(self._pump(reader, upstream_writer), self._pump(upstream_reader, writer))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(_CHUNK_BYTES):
            await asyncio.sleep(self._weather.latency_seconds)
            await self._wait_out_silence()
            writer.write(data)
            await writer.drain()
        await asyncio.sleep(self._weather.close_seconds)
        await self._wait_out_silence()
        writer.write_eof()

    async def _wait_out_silence(self) -> None:
        while self._weather.is_silent:
            await self._has_changed.wait()

    @contextlib.contextmanager
    def _kept(self, writer: asyncio.StreamWriter) -> Iterator[None]:
        """Where `cut` finds it; reset at the end."""
        self._writers.add(writer)
        try:
            yield
        finally:
            _reset(writer)
            self._writers.discard(writer)


@contextlib.contextmanager
def running_network() -> Iterator[Callable[[Path], Proxy]]:
    """A function that opens a proxy in front of a socket. All proxies run in a thread of their own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="network", daemon=True)
    thread.start()
    proxies: list[Proxy] = []

    async def make(upstream: Path) -> Proxy:
        proxies.append(Proxy(upstream))
        await proxies[-1].open()
        return proxies[-1]

    try:
        yield lambda upstream: asyncio.run_coroutine_threadsafe(make(upstream), loop).result(10)
    finally:
        for proxy in proxies:
            asyncio.run_coroutine_threadsafe(proxy.close(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with RST where the socket is one of TCP."""
    transport = writer.transport
    peer: socket.socket | None = transport.get_extra_info("socket")
    if peer is not None and peer.family == socket.AF_INET and not transport.is_closing():
        with contextlib.suppress(OSError):
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    transport.abort()
