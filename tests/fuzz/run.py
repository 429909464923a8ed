"""One run: rounds of batches, with a look behind the service after each batch."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import requests

from tests.fuzz.cases import MODES, fuzz_operation, operations_of
from tests.fuzz.forms import send_elsewhere, send_form
from tests.fuzz.population import Population
from tests.fuzz.report import Report
from tests.fuzz.requester import Requester
from tests.fuzz.service import Service, running_service

MAX_MEMORY_BYTES = 450 * 2**20
"""Of three processes: the API, its reader of large submissions, and that of Parquet."""

_ROUND = 1000
"""Requests between two refills of the population."""
_WEIGHTS = {"POST /selections": 3.0}


@dataclass(frozen=True)
class Plan:
    """What to send."""

    seed: int
    num_requests: int
    folder: Path


@dataclass
class Memory:
    """Largest memory of the API and its children, looked at five times a second (bytes)."""

    service: Service
    peak: int = 0
    _stopping: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def watched(self) -> Iterator[None]:
        watch = threading.Thread(target=self._watch)
        watch.start()
        try:
            yield
        finally:
            self._stopping.set()
            watch.join()

    def _watch(self) -> None:
        while not self._stopping.wait(0.2):
            self.peak = max(self.peak, self.service.memory_bytes())


def run_fuzz(plan: Plan, say: Callable[[str], None]) -> Report:
    """Send requests until there were as many as planned."""
    started = time.monotonic()
    with running_service(plan.folder) as service:
        population = Population(service)
        requester = Requester(population, plan.folder)
        memory = Memory(service)
        with memory.watched():
            _send_all(plan, requester, say)
        if memory.peak > MAX_MEMORY_BYTES:
            requester.fail("the API", f"took {memory.peak / 2**20:.0f} MiB of memory", "")
        if service.process.exit_status is not None:
            requester.fail("the API", "ended", service.process.log()[-3000:])
        return Report(plan.seed, requester, population.accepted, memory.peak, time.monotonic() - started)


def _send_all(plan: Plan, requester: Requester, say: Callable[[str], None]) -> None:
    service = requester.population.service
    operations = operations_of(requests.get(f"{service.address}/openapi.json", timeout=30).json())
    size = min(_ROUND, plan.num_requests)
    unit = size / (len(operations) * len(MODES) + 12)
    number = 0
    while requester.num_requests < plan.num_requests:
        number += 1
        requester.population.refill()
        for operation in operations:
            for mode in MODES:
                count = max(2, round(unit * _WEIGHTS.get(operation.label, 1.0)))
                what = f"{operation.label} {mode.value}"
                _batch(requester, plan, number, what, partial(fuzz_operation, requester, operation, mode, count))
        for what, send, share in (("files", send_form, 5), ("elsewhere", send_elsewhere, 2)):
            _batch(requester, plan, number, what, partial(_repeat, requester, send, max(2, round(unit * share))))
        say(f"round {number}: {requester.num_requests} requests, {requester.failures.total()} failures")


def _repeat(requester: Requester, send: Callable[[Requester, random.Random], None], count: int, number: int) -> None:
    draw = random.Random(number)
    for _ in range(count):
        send(requester, draw)


def _batch(requester: Requester, plan: Plan, number: int, what: str, act: Callable[[int], None]) -> None:
    requester.batch = f"SEED={plan.seed}, round {number}, {what}"
    act(random.Random(f"{plan.seed} {number} {what}").randrange(2**32))
    for fault in requester.population.find_faults():
        requester.fail("what is stored", fault, requester.batch)
    spooled = requester.population.service.spooled()
    if spooled:
        requester.fail("the spool", f"keeps {len(spooled)} files", "\n".join(spooled))
