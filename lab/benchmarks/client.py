"""An HTTP client that takes little of the processor, so that what it measures is the server."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np


class Answer(NamedTuple):
    """Status, headers (names in lower case) and body of an answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(slots=True)
class Connection:
    """One connection to 127.0.0.1, opened again when the server has closed it."""

    port: int
    _streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, request: bytes) -> Answer:
        """Send a whole request and read the whole answer; 503 where the server closes the connection.

        A server that refuses before it has read the body closes it, and its answer may be lost then.
        """
        is_fresh = self._streams is None
        try:
            return await self._exchange(request)
        except (OSError, EOFError):
            self.close()
            return Answer(503, {"retry-after": "1"}) if is_fresh else await self.send(request)

    async def _exchange(self, request: bytes) -> Answer:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._streams
        writer.write(request)
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        if headers.get("connection") == "close":
            self.close()
        return Answer(int(head[0].split()[1]), headers, body)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


def write_request(method: str, path: str, body: bytes = b"", **headers: str) -> bytes:
    """The bytes of a request. Underscores in the names of `headers` become dashes."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    if body:
        lines.append(f"Content-Length: {len(body)}")
        headers = {"Content_Type": "application/json", **headers}
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


@dataclass
class Times:
    """How long answers took, counted from when the request was due (seconds), and their statuses."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    def note(self, due: float, answer: Answer) -> None:
        """`due` is the `time.monotonic()` at which the request was due."""
        self.seconds.append(time.monotonic() - due)
        self.statuses[answer.status] += 1

    def milliseconds(self, percent: float) -> float:
        return float(np.percentile(self.seconds, percent)) * 1000 if self.seconds else float("nan")

    def describe(self) -> str:
        counts = ", ".join(f"{status}: {self.statuses[status]}" for status in sorted(self.statuses))
        return f"p50 {self.milliseconds(50):.1f} ms, p99 {self.milliseconds(99):.1f} ms ({counts})"


async def ask_again_and_again(port: int, clients: int, seconds: float, ask: Callable[[], bytes]) -> Times:
    """Clients that never pause, each over a connection of its own."""
    times, ended = Times(), time.monotonic() + seconds

    async def one() -> None:
        connection = Connection(port)
        while (due := time.monotonic()) < ended:
            times.note(due, await connection.send(ask()))
        connection.close()

    await asyncio.gather(*(one() for _ in range(clients)))
    return times
