"""Runs the steps of a plan one after another: each in a process of its own, with a deadline, whatever becomes of it.

A fault on a card spoils every later call of the same process. So no two steps share a process.
"""

import json
import math
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any, Literal

Outcome = Literal["done", "failed", "out of time"]
Finding = dict[str, Any]
"""One measurement, as JSON holds it."""

SHAPE = "random:gpt2-large"
"""The model of the targets: the shape of GPT-2 Large, random weights."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all steps measure with."""

    device: str = "cuda"
    model: str = SHAPE
    tokenizer: Path | None = None  #: folder; see `benchmarks.workloads.tokenizer.find_tokenizer`
    is_rehearsal: bool = False  #: tiny sizes and few repetitions, to try the steps without a card


StepRun = Callable[[Setting], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the plan. `run` is a function of a module, so that another process finds it."""

    name: str
    run: StepRun
    seconds: float  #: its share of the whole time; it may also use what earlier steps left


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What became of a step: one line of the output."""

    step: str
    outcome: Outcome
    seconds: float  #: the start of the process included
    findings: tuple[Finding, ...]  #: those before the failure or the deadline too
    error: str | None = None

    def to_json(self) -> str:
        """One line. Numbers that JSON does not have are written as text: "inf", "nan"."""
        return json.dumps(_finite(asdict(self)), default=str)


def run_steps(
    steps: Sequence[Step],
    setting: Setting,
    limit: float,
    context: BaseContext,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[StepRecord]:
    """Run every step; each is given its own seconds and what earlier steps left of theirs, as long as there is time.

    Args:
        limit: seconds for all steps together.
        context: how processes are started; see `choose_context`.
    """
    ends = clock() + limit
    for index, step in enumerate(steps):
        left = max(ends - clock(), 0.0)
        kept = sum(later.seconds for later in steps[index + 1 :])
        yield run_step(step, setting, max(left - kept, min(step.seconds, left)), context, clock)


def choose_context(first: Step, setting: Setting) -> tuple[BaseContext, StepRecord]:
    """How processes are started, and what became of the step `first`, which tells.

    Forks of a process that has imported torch save seconds for each step. If the first step fails there, each process
    is started from nothing.
    """
    forking = get_context("forkserver")
    forking.set_forkserver_preload(["benchmarks.gpu.plan"])
    record = run_step(first, setting, first.seconds, forking)
    return (forking if record.outcome == "done" else get_context("spawn")), record


def run_step(
    step: Step,
    setting: Setting,
    seconds: float,
    context: BaseContext,
    clock: Callable[[], float] = time.monotonic,
) -> StepRecord:
    """Run a step in a process of its own, and end the process after `seconds`."""
    started = clock()
    findings: list[Finding] = []
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(step.run, setting, theirs))  # type: ignore[attr-defined]
    outcome: Outcome = "failed"
    error: str | None = None
    try:
        process.start()
        theirs.close()  # so that the end of the process ends the pipe
        outcome, error = _receive(ours, findings, started + seconds, clock)
    except Exception as failure:  # noqa: BLE001 - whatever it is, the next step must run
        error = repr(failure)
    finally:
        _end(process)
        ours.close()
    if outcome == "out of time":
        error = f"stopped after {seconds:.0f} seconds"
    return StepRecord(step.name, outcome, round(clock() - started, 2), tuple(findings), error)


def _receive(
    pipe: Connection, findings: list[Finding], deadline: float, clock: Callable[[], float]
) -> tuple[Outcome, str | None]:
    """Collect findings until the step ends, its process dies or the deadline passes."""
    while pipe.poll(max(deadline - clock(), 0.0)):
        try:
            kind, content = pipe.recv()
        except EOFError:
            return "failed", "the process ended without a word; it may have been killed for memory"
        if kind == "finding":
            findings.append(content)
        else:
            return ("done", None) if content is None else ("failed", content)
    return "out of time", None


def _end(process: Any) -> None:
    """End the process and those that it started."""
    if process.pid is None:
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join(5)


def _work(run: StepRun, setting: Setting, pipe: Connection) -> None:
    """The life of a step's process."""
    os.setpgid(0, 0)  # a group of its own, which `_end` ends as a whole
    os.dup2(2, 1)  # standard output belongs to the JSON lines
    error = None
    try:
        for finding in run(setting):
            pipe.send(("finding", json.loads(json.dumps(_finite(finding), default=str))))
    except BaseException:  # noqa: BLE001 - the parent writes it down
        error = traceback.format_exc(limit=-6)
    pipe.send(("end", error))


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(name): _finite(item) for name, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value
