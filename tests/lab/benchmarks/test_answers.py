"""The benchmark of answers asks as it says, and repeats what is refused for now."""

import asyncio
from collections import Counter

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lab.benchmarks.answers import ask_prompt, measure_callers, measure_file, measure_one
from tests.endpoints.serving import serving

TEXTS = [f"text {number}" for number in range(600)]


class Double:
    """Answers, and says before each answer that it is busy."""

    url = ""

    def __init__(self, *, is_busy: bool) -> None:
        self.asked, self.is_busy = list[list[str]](), is_busy
        self.refused = 0

    def app(self) -> Starlette:
        async def classify(request: Request) -> Response:
            if self.is_busy and self.refused <= len(self.asked):
                self.refused += 1
                return JSONResponse({}, 503, {"Retry-After": "0"})
            self.asked.append((await request.json())["inputs"])
            return JSONResponse({"answers": []})

        return Starlette(routes=[Route("/prompts/films/classify", classify, methods=["POST"])])


def port_of(double: Double) -> int:
    return int(double.url.rpartition(":")[2])


def test_a_file_is_asked_batch_by_batch_until_all_is_answered() -> None:
    with serving(Double(is_busy=True)) as double:
        rate = asyncio.run(measure_file(port_of(double), ask_prompt("films", "a-key"), TEXTS))
    assert [text for batch in double.asked for text in batch] == TEXTS
    assert (list(map(len, double.asked)), double.refused) == ([256, 256, 88], 3)
    assert rate > 0


def test_one_text_is_asked_in_turn_and_callers_tell_statuses_and_memory() -> None:
    with serving(Double(is_busy=False)) as double:
        times = asyncio.run(measure_one(port_of(double), ask_prompt("films", None), TEXTS[:5]))
        said = asyncio.run(measure_callers(port_of(double), ask_prompt("films", None), TEXTS, 4, 0.5))
    assert times.statuses == Counter({200: 5})
    assert said.startswith("4 callers for 0 s: p50 ")
    assert "(200: " in said
    assert "worker.answering " in said
