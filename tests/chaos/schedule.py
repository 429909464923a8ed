"""Which fault happens when and where, drawn from a seed: the same seed gives the same faults."""

import random
from collections.abc import Mapping
from dataclasses import dataclass

WEIGHTS: Mapping[str, float] = {
    # Processes. SIGKILL, SIGSTOP with a later SIGCONT, and SIGTERM; whatever ends is started again.
    "kill-worker": 3,
    "kill-horse": 3,
    "kill-api": 2,
    "freeze-worker": 2,
    "freeze-horse": 2,
    "freeze-api": 1,
    "terminate-worker": 2,
    "terminate-api": 1,
    # The network between one process and one store.
    "cut-postgres": 2,
    "slow-postgres": 1,
    "silence-postgres": 2,
    "refuse-postgres": 1,
    "narrow-postgres": 1,
    "cut-redis": 2,
    "slow-redis": 1,
    "silence-redis": 2,
    "refuse-redis": 1,
    "linger-redis": 1,
    # The stores.
    "flush-redis": 1,
    "restart-redis": 1,
    "freeze-redis": 1,
    "crash-postgres-backend": 1,
    "restart-postgres": 1,
    "freeze-postgres": 1,
    # The machines.
    "fill-api-disk": 1,
    "fill-worker-disk": 1,
    "step-worker-clock": 1,
}
"""Kinds of faults, and how often each comes in proportion to the others."""

PAUSE_SECONDS = (5.0, 15.0)
FAULT_SECONDS = (1.0, 12.0)


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """A fault. `at` is the time since the beginning (seconds). `place` chooses among the processes that can have it."""

    at: float
    kind: str
    place: int
    seconds: float  #: until it is mended; faults that are over at once have no use for it


def plan_faults(seed: int, seconds: float, weights: Mapping[str, float] = WEIGHTS) -> list[PlannedFault]:
    """The faults of a run of `seconds`, in order of time. A longer run begins with the faults of a shorter one."""
    draw = random.Random(f"faults-{seed}")
    planned: list[PlannedFault] = []
    at = 0.0
    while True:
        at += draw.uniform(*PAUSE_SECONDS)
        [kind] = draw.choices(list(weights), list(weights.values()))
        fault = PlannedFault(at, kind, draw.randrange(2**16), draw.uniform(*FAULT_SECONDS))
        if at >= seconds:
            return planned
        planned.append(fault)
