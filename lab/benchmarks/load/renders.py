"""A prompt that finds examples for each input, beside a fixed one: python -m lab.benchmarks.load --renders"""

import asyncio
import itertools
import json
import time
from typing import Final

from lab.benchmarks.load.client import Connection, write_request
from lab.benchmarks.load.measures import Times
from lab.benchmarks.load.names import finish_selection
from lab.benchmarks.load.servers import Server, Servers
from lab.benchmarks.workloads.texts import corpus_task, generate_examples
from lens_engine import Problem
from lens_engine.config import FormKind

FORMS: Final[tuple[FormKind, ...]] = ("fixed", "nearest")
_CORPUS: Final = "reviews"
_INPUTS = 1000
_JUDGING = 16
"""Rows that judge, and so are not in the pool."""


def name_prompts(servers: Servers, ids: list[str], pool_rows: int) -> None:
    """Give two queued selections results over the same rows, one of each form."""
    examples = generate_examples(_CORPUS, pool_rows + _JUDGING)
    for form, selection_id in zip(FORMS, ids, strict=False):
        options = {"search": {"forms": [form]}}
        finish_selection(servers, selection_id, Problem(corpus_task(_CORPUS), examples), options)


async def render_both(server: Server, ids: list[str], readers: int, seconds: float) -> dict[FormKind, Times]:
    """Half of the readers render the one name again and again, half the other, each another input."""
    found: dict[FormKind, Times] = {form: Times() for form in FORMS}
    for form, selection_id in zip(FORMS, ids, strict=False):
        await _name(server, form, selection_id)
    bodies = itertools.cycle(
        [json.dumps({"input": f"{one.text} indeed"}).encode() for one in generate_examples(_CORPUS, _INPUTS)]
    )
    ended = time.monotonic() + seconds

    async def read(form: FormKind) -> None:
        connection = Connection(server.port)
        while time.monotonic() < ended:
            request = write_request("POST", f"/prompts/{form}/render", next(bodies), Content_Type="application/json")
            began = time.monotonic()
            answer = await connection.send(request)
            found[form].note(time.monotonic() - began, answer.status)
        connection.close()

    await asyncio.gather(*(read(FORMS[number % 2]) for number in range(readers)))
    return found


async def _name(server: Server, name: str, selection_id: str) -> None:
    """Let a name say what the selection found, and ask it once: the first request makes the index."""
    connection = Connection(server.port)
    for method, path, body, headers in (
        ("PUT", f"/prompts/{name}", {"selection_id": selection_id}, {"If_None_Match": "*"}),
        ("POST", f"/prompts/{name}/render", {"input": "a first text"}, {}),
    ):
        content = json.dumps(body).encode()
        answer = await connection.send(write_request(method, path, content, Content_Type="application/json", **headers))
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path} was answered {answer.status}: {answer.body.decode()}")
    connection.close()
