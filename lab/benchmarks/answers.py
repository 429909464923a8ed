"""Answers at once, of a service that runs on this machine. One command prints each figure with its goal:

lens up                                                                       # beside it
python -m lab.benchmarks.answers --prompt NAME --words NAME --beside "lens select …"

The classifier of the first name reads a model of this machine, that of the second counts words. Without --words or
--beside, these parts are left out.
"""

import argparse
import asyncio
import itertools
import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import psutil

from lab.benchmarks.client import Answer, Connection, Times, ask_again_and_again, write_request
from lab.benchmarks.texts import generate_examples
from lens_engine.classifier.classifier import BATCH_TEXTS, Classifier
from lens_engine.opening import open_model

Ask = Callable[[Sequence[str]], bytes]
"""The request that asks for texts."""

_CALLERS, _IN_TURN, _WATCHED = 200, 100, ("lens_cli serve", "worker.answering")


def ask_prompt(name: str, key: str | None) -> Ask:
    """Ask the classifier of a name."""
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}

    def ask(texts: Sequence[str]) -> bytes:
        body = json.dumps({"inputs": list(texts), "prompts": "classifier"}).encode()
        return write_request("POST", f"/prompts/{name}/classify", body, **headers)

    return ask


async def measure_one(port: int, ask: Ask, texts: Sequence[str]) -> Times:
    """One text after another, once the model is there."""
    connection, times = Connection(port), Times()
    await send_until_answered(connection, ask(texts[:1]))
    for text in texts:
        due = time.monotonic()
        times.note(due, await connection.send(ask([text])))
    connection.close()
    return times


async def measure_file(port: int, ask: Ask, texts: Sequence[str]) -> float:
    """Texts a second, in batches one after another, each repeated until it is answered."""
    connection, began = Connection(port), time.monotonic()
    for start in range(0, len(texts), BATCH_TEXTS):
        await send_until_answered(connection, ask(texts[start : start + BATCH_TEXTS]))
    connection.close()
    return len(texts) / (time.monotonic() - began)


async def send_until_answered(connection: Connection, request: bytes) -> Answer:
    """The first answer that is not 429 or 503.

    Raises:
        RuntimeError: it is a refusal.
    """
    while (answer := await connection.send(request)).status in (429, 503):
        await asyncio.sleep(float(answer.headers.get("retry-after", "1")))
    if answer.status != 200:
        raise RuntimeError(f"status {answer.status}: {answer.body[:400]!r}")
    return answer


async def measure_callers(port: int, ask: Ask, texts: Sequence[str], callers: int, seconds: float) -> str:
    """Callers who never pause, each with one text; their answers, and the memory of the processes at each fifth."""
    rest, looks = itertools.cycle(texts), list[str]()

    async def look() -> None:
        while True:
            looks.append(", ".join(f"{name} {size} MiB" for name, size in read_memory().items()))
            await asyncio.sleep(seconds / 5)

    looking = asyncio.create_task(look())
    times = await ask_again_and_again(port, callers, seconds, lambda: ask([next(rest)]))
    looking.cancel()
    return "\n".join(
        [f"{callers} callers for {seconds:.0f} s: {times.describe()}; no 5xx but 503", *(f"  {one}" for one in looks)]
    )


def read_memory() -> dict[str, int]:
    """Memory of the service's processes on this machine (MiB), by the words of their commands."""
    found = dict.fromkeys(_WATCHED, 0)
    for process in psutil.process_iter(["cmdline", "memory_info"]):
        command = " ".join(process.info["cmdline"] or ())
        for words in found:
            found[words] += process.info["memory_info"].rss >> 20 if words in command else 0
    return found


def measure_library(classifier: Classifier, texts: Sequence[str]) -> float:
    """Texts a second of `Classifier.predict` in this process."""
    model = classifier.model
    scorer = None if model is None else open_model(model.model, dtype=model.dtype, pair_cache_bytes=None)
    classifier.predict(texts[:1], scorer)
    began = time.monotonic()
    classifier.predict(texts, scorer)
    return len(texts) / (time.monotonic() - began)


async def fetch_classifier(port: int, name: str, key: str | None) -> Classifier:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    connection = Connection(port)
    answer = await send_until_answered(connection, write_request("GET", f"/prompts/{name}/classifier", b"", **headers))
    connection.close()
    return Classifier.model_validate_json(answer.body)


async def measure(given: argparse.Namespace) -> None:
    ask, port = ask_prompt(given.prompt, given.key), given.port
    texts = [one.text for one in generate_examples("reviews", given.texts)]
    few = texts[:_IN_TURN]
    one = await measure_one(port, ask, few)
    _say(f"one text, {len(few)} in turn: {one.describe()}; goal p50 60 ms, p99 250 ms")
    if given.words is not None:
        words = await measure_one(port, ask_prompt(given.words, given.key), few)
        _say(f"words, {len(few)} in turn: {words.describe()}; goal p50 10 ms")
    _say(await measure_callers(port, ask, texts, _CALLERS, given.seconds))
    if given.beside is not None:
        _say(await measure_beside(given, ask, few))
    rate = await measure_file(port, ask, texts)
    own = measure_library(await fetch_classifier(port, given.prompt, given.key), texts)
    _say(f"{len(texts)} texts: {rate:.1f} a second; library {own:.1f}; ratio {rate / own:.2f}, goal at least 0.80")


async def measure_beside(given: argparse.Namespace, ask: Ask, texts: Sequence[str]) -> str:
    """One text after another beside a command, some time after its start."""
    beside = subprocess.Popen(shlex.split(given.beside), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    await asyncio.sleep(given.after)
    times = await measure_one(given.port, ask, texts)
    state = "runs" if beside.poll() is None else "has ended, so this says nothing"
    beside.terminate()
    beside.wait()
    return f"one text, {len(texts)} in turn, beside a command that {state}: {times.describe()}; goal p99 750 ms"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser("python -m lab.benchmarks.answers", description="Answers at once.")
    add = parser.add_argument
    add("--prompt", required=True, help="name whose classifier reads a model of this machine")
    add("--words", help="name whose classifier counts words")
    add("--port", type=int, default=8000, help="of the API on this machine (default: %(default)s)")
    add("--key", help="API key, if the service asks for one")
    add("--texts", type=int, default=5000, help="texts of the file (default: %(default)s)")
    add("--seconds", type=float, default=60.0, help="time of the callers (default: %(default)s)")
    add("--beside", help="a command, as `lens select …`, beside which one text is asked")
    add("--after", type=float, default=60.0, help="time after its start (seconds; default: %(default)s)")
    asyncio.run(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
