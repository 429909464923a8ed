"""An HTTP client that takes little of the processor, so that what it measures is the server."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and headers (names in lower case) of an answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(slots=True)
class Connection:
    """One connection to 127.0.0.1, opened again when the server has closed it."""

    port: int
    _streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, request: bytes) -> Answer:
        """Send a whole request and read the whole answer.

        Raises:
            OSError: the server does not answer, also not over a second connection.
        """
        is_fresh = self._streams is None
        try:
            return await self._exchange(request)
        except (OSError, EOFError):
            self.close()
            if is_fresh:
                raise
            return await self._exchange(request)

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
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body
