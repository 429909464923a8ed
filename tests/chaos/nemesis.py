"""Draws the faults from a seed, inflicts them at their times, mends them, and starts again what has ended."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import psycopg
from redis.exceptions import RedisError

from tests.chaos.config import PlannedFault
from tests.chaos.faults import FAULTS, FaultSkipped, Mend
from tests.chaos.service import Service

PAUSE_SECONDS = (5.0, 15.0)
FAULT_SECONDS = (1.0, 12.0)
_TICK_SECONDS = 0.1


def plan_faults(seed: int, seconds: float) -> list[PlannedFault]:
    """The faults of a run, in order of time. A longer run begins with the faults of a shorter one."""
    draw = random.Random(f"faults-{seed}")
    planned: list[PlannedFault] = []
    at = 0.0
    while True:
        at += draw.uniform(*PAUSE_SECONDS)
        [kind] = draw.choices(list(FAULTS), [fault.weight for fault in FAULTS.values()])
        fault = PlannedFault(at, kind, draw.randrange(2**16), draw.uniform(*FAULT_SECONDS))
        if at >= seconds:
            return planned
        planned.append(fault)


@dataclass(frozen=True, slots=True)
class Inflicted:
    """A fault that was planned, and where it was inflicted."""

    fault: PlannedFault
    where: str
    mend: Mend | None = None
    skipped: str | None = None  #: the reason

    def __str__(self) -> str:
        until = "" if self.mend is None else f" for {self.fault.seconds:.1f} s"
        skipped = f": skipped, {self.skipped}" if self.skipped else ""
        return f"{self.fault.at:7.1f} s  {self.fault.kind}{until} on {self.where}{skipped}"


class Nemesis:
    """Runs in the main thread, because children die with the thread that started them."""

    def __init__(self, service: Service, clock: Callable[[], float], say: Callable[[str], None]) -> None:
        self.log: list[Inflicted] = []
        self._service = service
        self._clock = clock
        self._say = say
        self._open: list[Inflicted] = []

    def rage(self, plan: Sequence[PlannedFault], until: float) -> None:
        """Inflict the faults until the clock shows `until`."""
        waiting = list(plan)
        while self._clock() < until:
            if waiting and self._clock() >= waiting[0].at:
                self._inflict(waiting.pop(0))
            self.tick()

    def tick(self) -> None:
        """Mend what is due, and start again what has ended."""
        self._mend([one for one in self._open if one.fault.at + one.fault.seconds <= self._clock()])
        self._service.revive()
        time.sleep(_TICK_SECONDS)

    def calm(self) -> None:
        """Mend everything now."""
        self._mend(list(self._open))

    def _inflict(self, planned: PlannedFault) -> None:
        fault = FAULTS[planned.kind]
        members = {"worker": self._service.workers, "api": self._service.apis}.get(fault.place, self._service.members)
        if planned.kind.endswith("-horse"):
            members = [member for member in members if member.horse is not None] or members
        member = members[planned.place % len(members)]
        of_store = fault.place in {"postgres", "redis"}
        where = fault.place if of_store else member.name
        try:
            if of_store and any(one.where == where for one in self._open):
                raise FaultSkipped(f"{where} is away already")
            inflicted = Inflicted(planned, where, fault.begin(self._service.stores if of_store else member))
        except (FaultSkipped, psycopg.Error, RedisError) as reason:
            inflicted = Inflicted(planned, where, skipped=str(reason).strip())
        self.log.append(inflicted)
        if inflicted.mend is not None:
            self._open.append(inflicted)
        self._say(str(inflicted))

    def _mend(self, due: Sequence[Inflicted]) -> None:
        for one in due:
            self._open.remove(one)
            assert one.mend is not None
            one.mend()
