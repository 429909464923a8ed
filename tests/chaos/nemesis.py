"""Inflicts the planned faults at their times, mends them, and starts again what has ended."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import psycopg
from redis.exceptions import RedisError

from tests.chaos.faults import inflict
from tests.chaos.inflicted import FaultSkipped, Inflicted
from tests.chaos.report import LoggedFault, describe_fault
from tests.chaos.schedule import PlannedFault
from tests.chaos.service import Member, Service

_TICK_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class _Due:
    at: float
    inflicted: Inflicted


class Nemesis:
    """Runs in the main thread, because children die with the thread that started them."""

    def __init__(self, service: Service, clock: Callable[[], float], say: Callable[[str], None]) -> None:
        self.log: list[LoggedFault] = []
        self.drains: list[float] = []
        self._service = service
        self._clock = clock
        self._say = say
        self._due: list[_Due] = []
        self._ending: dict[str, tuple[Member, float]] = {}

    def rage(self, plan: Sequence[PlannedFault], until: float) -> None:
        """Inflict the faults until the clock shows `until`."""
        waiting = list(plan)
        while self._clock() < until:
            if waiting and self._clock() >= waiting[0].at:
                self._inflict(waiting.pop(0))
            self.tick()

    def tick(self) -> None:
        """Mend what is due, and start again what has ended."""
        for due in [due for due in self._due if due.at <= self._clock()]:
            self._mend(due)
        self._note_drains()
        self._service.revive()
        time.sleep(_TICK_SECONDS)

    def calm(self) -> None:
        """Mend everything now."""
        for due in list(self._due):
            self._mend(due)
        self._service.calm()

    def _inflict(self, fault: PlannedFault) -> None:
        at, clock = self._clock(), datetime.now(UTC)
        try:
            self._check_free(fault)
            inflicted = inflict(self._service, fault)
        except (FaultSkipped, psycopg.Error, RedisError) as reason:
            logged = LoggedFault(at, fault.kind, "nothing", None, skipped=str(reason).strip())
        else:
            seconds = None if inflicted.mend is None else fault.seconds
            logged = LoggedFault(at, fault.kind, inflicted.where, seconds, inflicted.victim, clock=clock)
            if inflicted.mend is not None:
                self._due.append(_Due(at + fault.seconds, inflicted))
            if fault.kind.startswith("terminate") and inflicted.member is not None:
                self._ending[inflicted.member.name] = (inflicted.member, at)
        self.log.append(logged)
        self._say(describe_fault(logged))

    def _check_free(self, fault: PlannedFault) -> None:
        """A store has one fault at a time: what is frozen cannot be asked to end."""
        store = {"redis": "Redis", "postgres": "Postgres"}.get(fault.kind.split("-")[1])
        if store and any(due.inflicted.where == store for due in self._due):
            raise FaultSkipped(f"{store} is away already")

    def _mend(self, due: _Due) -> None:
        self._due.remove(due)
        if due.inflicted.mend is not None:
            due.inflicted.mend()

    def _note_drains(self) -> None:
        """Seconds from SIGTERM to the end; a process that was frozen or killed meanwhile is not counted."""
        for name, (member, at) in list(self._ending.items()):
            if any(fault.where == name and fault.at > at and fault.skipped is None for fault in self.log):
                del self._ending[name]
            elif member.running is None:
                self.drains.append(self._clock() - at)
                del self._ending[name]
