"""Pollers, submissions at a rate, and many uploads at once."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from lab.benchmarks.load.bodies import small_submission
from lab.benchmarks.load.client import Answer, Connection, write_request
from lab.benchmarks.load.measures import Times
from lab.benchmarks.load.servers import Server

POLL_SECONDS = 5.0
_PATIENCE_SECONDS = 300.0


@dataclass
class Submitted:
    """Submissions: the addresses of the acknowledged ones, and the times of single requests."""

    times: Times
    locations: list[str]
    given_up: int = 0  #: never acknowledged


async def poll(server: Server, ids: Sequence[str], num_pollers: int, seconds: float, times: Times) -> None:
    """Each poller asks for one selection every five seconds, whole and without If-None-Match."""
    began = time.monotonic()

    async def one(number: int) -> None:
        connection = Connection(server.port)
        request = write_request("GET", f"/selections/{ids[number % len(ids)]}")
        due = began + POLL_SECONDS * number / num_pollers
        while due < began + seconds:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            answer = await _try(connection, request)
            times.note(time.monotonic() - due, answer.status)
            due += POLL_SECONDS
        connection.close()

    await asyncio.gather(*(one(number) for number in range(num_pollers)))


async def submit_at_rate(server: Server, rate: float, seconds: float) -> Submitted:
    """Submit at times that do not wait for the answers, as independent clients do; repeat what is refused with 503."""
    found = Submitted(Times(), [])
    began = time.monotonic()
    connections: asyncio.LifoQueue[Connection] = asyncio.LifoQueue()

    async def one(number: int) -> None:
        due = began + number / rate
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        connection = Connection(server.port) if connections.empty() else connections.get_nowait()
        await _insist(connection, small_submission(), due, found)
        connections.put_nowait(connection)

    await asyncio.gather(*(one(number) for number in range(int(rate * seconds))))
    return found


async def upload_at_once(server: Server, request: bytes, count: int) -> Submitted:
    """Send the same large body `count` times at the same moment; repeat what is refused with 503."""
    found = Submitted(Times(), [])
    due = time.monotonic()
    await asyncio.gather(*(_insist(Connection(server.port), request, due, found) for _ in range(count)))
    return found


@asynccontextmanager
async def uploading(server: Server, request: bytes) -> AsyncIterator[None]:
    """Upload one file after another while the block runs."""
    stopping = asyncio.Event()

    async def act() -> None:
        connection = Connection(server.port)
        while not stopping.is_set():
            await _try(connection, request)
        connection.close()

    task = asyncio.create_task(act())
    try:
        yield
    finally:
        stopping.set()
        await task


async def _insist(connection: Connection, request: bytes, due: float, found: Submitted) -> None:
    deadline = due + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        answer = await _try(connection, request)
        found.times.note(time.monotonic() - due, answer.status)
        if answer.status == 202:
            found.locations.append(answer.headers.get("location", ""))
            return
        if answer.status != 503:
            break
        await asyncio.sleep(float(answer.headers.get("retry-after", "1")))
        due = time.monotonic()
    found.given_up += 1


async def _try(connection: Connection, request: bytes) -> Answer:
    """A server that refuses before it has read the body closes the connection; its answer may be lost then."""
    try:
        return await connection.send(request)
    except (OSError, EOFError):
        connection.close()
        return Answer(503, {"retry-after": "1"})
