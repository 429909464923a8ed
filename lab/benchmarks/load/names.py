"""A name that is switched back and forth under many readers: python -m lab.benchmarks.load --names"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.lifecycle import claims, endings
from app.lifecycle.results import SelectionOutcome
from lab.benchmarks.load.client import Connection, write_request
from lab.benchmarks.load.measures import Times
from lab.benchmarks.load.servers import Server, Servers
from lens_engine import Problem, SelectionResult, Task, resolve_config, select_support_examples
from lens_engine.testing import TableScorer

_LEASE_SECONDS = 60.0
_PATH = "/prompts/switched"
_SWITCH_SECONDS = 0.05
_LABELS = {"good": "good", "bad": "bad"}
_OPTIONS = {
    "comparisons": "none",
    "classifier": {"kind": "none"},
    "splits": {"validation": 8, "confirmation": 0, "test": 8},
    "filtering": {"candidates": 16, "keep": 8, "rounds": 1, "initial_score_size": 4, "max_score_size": 4},
}


@dataclass
class Reads:
    """What the readers saw."""

    times: Times = field(default_factory=Times)
    versions: Counter[int] = field(default_factory=Counter)
    mixtures: int = 0  #: answers whose examples, selection and version are not of one change


def finish_selections(servers: Servers, ids: list[str]) -> dict[str, list[int]]:
    """Give two queued selections results of their own; the rows of the support examples of each."""
    examples = [(f"a {label} day, number {row}", label) for row in range(30) for label in _LABELS]
    problem = Problem(Task("{text} It was {label}.", _LABELS), examples)
    return {
        selection_id: list(finish_selection(servers, selection_id, problem, {"seed": seed}).rows)
        for seed, selection_id in enumerate(ids[:2])
    }


def finish_selection(
    servers: Servers, selection_id: str, problem: Problem, options: Mapping[str, Any]
) -> SelectionResult:
    """Give a queued selection the result of a small run without a model."""
    result = select_support_examples(
        problem, TableScorer(), resolve_config("quick", {**_OPTIONS, **options}), progress=False
    )
    with servers.database.session_scope() as session:
        claim = claims.claim_job(session, selection_id, _LEASE_SECONDS)
        if claim is None or not endings.finish(session, claim, SelectionOutcome(result)):
            raise RuntimeError(f"{selection_id} was not to be finished")
    return result


async def switch_and_read(server: Server, rows: dict[str, list[int]], readers: int, seconds: float) -> Reads:
    """Switch the name every 50 ms while each reader reads again and again."""
    both, found, ended = list(rows), Reads(), time.monotonic() + seconds
    writer = Connection(server.port)
    await _put(writer, both[0], If_None_Match="*")

    async def switch() -> None:
        version = 1
        while time.monotonic() < ended:
            status = await _put(writer, both[version % 2], If_Match=f'"{version}"')
            version += status == 200
            await asyncio.sleep(_SWITCH_SECONDS)

    async def read() -> None:
        connection, request = Connection(server.port), write_request("GET", f"{_PATH}/support-examples")
        while time.monotonic() < ended:
            began = time.monotonic()
            answer = await connection.send(request)
            found.times.note(time.monotonic() - began, answer.status)
            if answer.status == 200:
                shown = json.loads(answer.body)
                found.versions[shown["version"]] += 1
                expected = both[(shown["version"] - 1) % 2]
                is_whole = shown["selection_id"] == expected and answer.headers["etag"] == f'"{shown["version"]}"'
                found.mixtures += not (is_whole and [one["row"] for one in shown["examples"]] == rows[expected])
        connection.close()

    await asyncio.gather(switch(), *(read() for _ in range(readers)))
    return found


async def read_bare(server: Server, path: str, readers: int, seconds: float) -> Times:
    """The same readers of the bare endpoint."""
    times, ended = Times(), time.monotonic() + seconds

    async def read() -> None:
        connection, request = Connection(server.port), write_request("GET", path)
        while time.monotonic() < ended:
            began = time.monotonic()
            answer = await connection.send(request)
            times.note(time.monotonic() - began, answer.status)
        connection.close()

    await asyncio.gather(*(read() for _ in range(readers)))
    return times


async def _put(connection: Connection, selection_id: str, **headers: str) -> int:
    body = json.dumps({"selection_id": selection_id}).encode()
    request = write_request("PUT", _PATH, body, Content_Type="application/json", **headers)
    return (await connection.send(request)).status
