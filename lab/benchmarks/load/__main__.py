"""The service under load, beside a bare endpoint of the same framework: python -m lab.benchmarks.load"""

import argparse
import asyncio
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil
from sqlalchemy import text

from lab.benchmarks.load.client import Connection, Times, ask_again_and_again, write_request
from lab.benchmarks.load.servers import Server, Servers, running_servers
from lab.benchmarks.load.submissions import finish_selection, large_form, large_json, small_submission
from lab.benchmarks.texts import corpus_task, generate_examples
from lens_engine import Problem

_POLL_SECONDS, _PATIENCE_SECONDS, _SWITCH_SECONDS, _LOOK_SECONDS = 5.0, 300.0, 0.05, 0.1
_POLLED, _READERS = 50, 200
_MIB = 1 << 20
_FORMS = ("fixed", "nearest")


async def measure_load(servers: Servers, given: argparse.Namespace) -> None:
    """Submissions, polls and uploads, the bare endpoint and Lens in turns."""
    ids = await _submit_some(servers.lens)
    await _submit(servers.lens, large_form(_MIB), Times())  # starts the reader of large submissions
    size = int(given.upload_mb * 1e6)
    bodies = {
        "uploads of 1 MiB": (1, large_form(_MIB)),
        "uploads of CSV": (given.uploads, large_form(size)),
        "uploads of JSON": (given.uploads, large_json(min(size, servers.settings.max_json_bytes))),
    }
    for server in (servers.bare, servers.lens):
        times = Times()
        waits = (place / given.rate for place in range(int(given.rate * given.seconds)))
        found = await asyncio.gather(*(_submit(server, small_submission(), times, wait) for wait in waits))
        _say(f"{server.name}, {given.rate:.0f} submissions a second: {times.describe()}, {_losses(servers, found)}")
        alone = await _poll(server, ids, given)
        _say(f"{server.name}, {given.pollers} pollers alone: {alone.describe()}")
        for name, (count, request) in bodies.items():
            times, watch, polling = Times(), _Watch(server), asyncio.create_task(_poll(server, ids, given))
            found = []
            while not polling.done():
                found += await asyncio.gather(*(_submit(server, request, times) for _ in range(count)))
                if count > 1:  # together, once
                    await polling
            beside = await polling
            _say(f"{server.name}, {count} {name} together: {times.describe()}, {watch.stop()}")
            _say(f"  {_losses(servers, found)}, polls {beside.describe()}, beside / alone: {beside.over(alone)}")
    _say("goals: polls p99 at most 50 ms, nothing lost, memory at most 400 MiB, p99 of polls at most x2 beside uploads")


async def measure_renders(servers: Servers, given: argparse.Namespace) -> None:
    """Readers of a prompt that finds examples for each input, and as many of a fixed one at the same time."""
    ids = await _submit_some(servers.lens)
    problem = Problem(corpus_task("reviews"), generate_examples("reviews", given.pool_rows + 16))  # 16 rows judge
    inputs = [f"{one.text} indeed" for one in generate_examples("reviews", 1000)]
    bodies = itertools.cycle([json.dumps({"input": one}).encode() for one in inputs])

    def ask(form: str) -> bytes:
        return write_request("POST", f"/prompts/{form}/render", next(bodies))

    for form, selection_id in zip(_FORMS, ids, strict=False):
        finish_selection(servers, selection_id, problem, {"search": {"forms": [form]}})
        await _name(servers.lens, form, selection_id, If_None_Match="*")
        await Connection(servers.lens.port).send(ask(form))  # makes the index
    watch, half = _Watch(servers.lens), _READERS // 2
    fixed, nearest = await asyncio.gather(
        *(ask_again_and_again(servers.lens.port, half, given.seconds, partial(ask, form)) for form in _FORMS)
    )
    _say(f"{half} readers of a fixed prompt: {fixed.describe()}")
    _say(f"{half} readers of one that finds examples: {nearest.describe()}, nearest / fixed: {nearest.over(fixed)}")
    _say(f"  {watch.stop()}. goals: no 5xx, p99 at most x3, memory at most 600 MiB")


async def _poll(server: Server, ids: Sequence[str], given: argparse.Namespace) -> Times:
    """Each poller asks for one selection every five seconds, whole and without If-None-Match."""
    times, began = Times(), time.monotonic()

    async def one(number: int) -> None:
        connection = Connection(server.port)
        request = write_request("GET", f"/selections/{ids[number % len(ids)]}")
        due = began + _POLL_SECONDS * number / given.pollers
        while due < began + given.seconds:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            times.note(due, await connection.send(request))
            due += _POLL_SECONDS
        connection.close()

    await asyncio.gather(*(one(number) for number in range(given.pollers)))
    return times


async def _submit(server: Server, request: bytes, times: Times, wait: float = 0.0) -> str | None:
    """Submit after a time that does not depend on other answers; repeat what is refused with 503.

    Returns:
        The id of the selection; None if it was never acknowledged.
    """
    due = time.monotonic() + wait
    await asyncio.sleep(wait)
    connection, deadline = Connection(server.port), due + _PATIENCE_SECONDS
    while True:
        answer = await connection.send(request)
        times.note(due, answer)
        if answer.status != 503 or time.monotonic() > deadline:
            break
        await asyncio.sleep(float(answer.headers.get("retry-after", "1")))
        due = time.monotonic()
    connection.close()
    return answer.headers.get("location", "").rpartition("/")[2] if answer.status == 202 else None


async def _submit_some(server: Server) -> list[str]:
    found = [await _submit(server, small_submission(), Times()) for _ in range(_POLLED)]
    return [one for one in found if one]


async def _name(server: Server, name: str, selection_id: str, **headers: str) -> bool:
    """Let a name say what the selection found; whether the service did it at once."""
    body = json.dumps({"selection_id": selection_id}).encode()
    answer = await Connection(server.port).send(write_request("PUT", f"/prompts/{name}", body, **headers))
    return answer.status == 200


def _losses(servers: Servers, found: Sequence[str | None]) -> str:
    ids = {one for one in found if one}
    with servers.database.session_scope() as session:
        stored = session.scalar(text("SELECT count(*) FROM jobs WHERE id = ANY(:ids)"), {"ids": list(ids)})
    return f"lost {len(ids) - (stored or 0)}, given up {found.count(None)}"


class _Watch:
    """Looks at the memory of a server until `stop`."""

    def __init__(self, server: Server) -> None:
        self._server, self._most = server, 0
        self._task = asyncio.create_task(self._look())

    async def _look(self) -> None:
        while True:
            with suppress(psutil.NoSuchProcess):  # a child that has ended
                self._most = max(self._most, await asyncio.to_thread(self._server.memory))
            await asyncio.sleep(_LOOK_SECONDS)

    def stop(self) -> str:
        self._task.cancel()
        return f"memory at most {self._most} MiB"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser("python -m lab.benchmarks.load", description=__doc__)
    add = parser.add_argument
    add("--pollers", type=int, default=1000, help="clients that poll every five seconds")
    add("--seconds", type=float, default=60.0, help="length of each measurement (seconds)")
    add("--rate", type=float, default=100.0, help="submissions a second")
    add("--uploads", type=int, default=20, help="uploads at the same moment")
    add("--upload-mb", type=float, default=10.0, help="size of an upload (MB)")
    add("--pool-rows", type=int, default=10_000, help="rows of the pool of a prompt that finds examples")
    add("--renders", action="store_true", help="only a prompt that finds examples, beside a fixed one")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="load-") as folder:
        Path(folder).chmod(0o711)  # Postgres runs as another account under root
        with running_servers(Path(folder)) as servers:
            asyncio.run((measure_renders if given.renders else measure_load)(servers, given))


if __name__ == "__main__":
    main()
