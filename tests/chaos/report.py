"""What a run found, as a table for people and as JSON."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from tests.chaos.history import Violation
from tests.chaos.measures import Recovery, Spread

_AROUND_SECONDS = 30.0


@dataclass
class LoggedFault:
    """A fault that was planned: inflicted, or skipped for a reason."""

    at: float
    kind: str
    where: str
    seconds: float | None  #: None for a fault that was over at once
    victim: str | None = None
    skipped: str | None = None
    clock: datetime | None = None


@dataclass
class Report:
    """Everything that is worth knowing of a run."""

    seed: int
    seconds: float
    faults: list[LoggedFault]
    accepted: int
    statuses: dict[str, int]
    deleted: int
    attempts: dict[int, int]
    digests: dict[str, int]
    recovery: Recovery
    cancels: Spread
    drains: Spread
    refusals: dict[int, int]
    silences: dict[str, int]
    outcomes: dict[str, int]
    slowest: dict[str, float]
    surprises: list[str]
    missing: dict[str, str]
    num_looks: int = 0  #: at the stores, while the faults went on
    violations: list[Violation] = field(default_factory=list)

    @property
    def has_passed(self) -> bool:
        return not self.violations

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "has_passed": self.has_passed}

    def to_text(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        lost = sum("lost" in violation.detail for violation in self.violations)
        stuck = sum("still" in violation.detail for violation in self.violations)
        yield f"Chaos of {self.seconds:.0f} s with SEED={self.seed}"
        yield from _table("Faults", self._count_faults())
        yield from _table("Faults that this machine cannot have", self.missing)
        yield from _table(
            "Selections",
            {
                "accepted": self.accepted,
                **self.statuses,
                "deleted by owners": self.deleted,
                "lost": lost,
                "stuck": stuck,
            },
        )
        yield from _table("Selections by number of attempts", self.attempts)
        yield from _table("Digests of whole results", self.digests)
        yield from _table(
            "Seconds (number; p50; longest)",
            {
                "fault on a worker to queued again": _describe(self.recovery.until_queued),
                "fault on a worker to running again": _describe(self.recovery.until_running),
                "cancel request to end, when running": _describe(self.cancels),
                "SIGTERM to end of a process": _describe(self.drains),
            },
        )
        yield from _table("Slowest answers (seconds)", {name: f"{one:.1f}" for name, one in self.slowest.items()})
        yield from _table("Requests", self.outcomes)
        yield from _table("Refusals by status", self.refusals)
        yield from _table("Requests without an answer", self.silences)
        yield from _table("Processes that ended by themselves", dict(Counter(self.surprises)))
        yield f"\nThe stores were looked at {self.num_looks} times."
        yield from self._violations()

    def _count_faults(self) -> dict[str, str]:
        done = Counter(fault.kind for fault in self.faults if fault.skipped is None)
        skipped = Counter(fault.kind for fault in self.faults if fault.skipped is not None)
        rows = {
            kind: f"{done[kind]}" + (f"  ({skipped[kind]} skipped)" if skipped[kind] else "")
            for kind in sorted({*done, *skipped})
        }
        return {**rows, "all": f"{done.total()}"}

    def _violations(self) -> Iterator[str]:
        if self.has_passed:
            yield "\nNo violation."
            return
        yield f"\n{len(self.violations)} VIOLATIONS; repeat with SEED={self.seed}"
        for violation in self.violations:
            yield f"\n{violation.invariant} at {violation.at:.1f} s: {violation.detail}"
            yield from (f"    {id_}" for id_ in violation.ids)
            near = [fault for fault in self.faults if abs(fault.at - violation.at) <= _AROUND_SECONDS]
            yield from (f"    fault: {describe_fault(fault)}" for fault in near)


def describe_fault(fault: LoggedFault) -> str:
    """One line of the log of faults."""
    until = "" if fault.seconds is None else f" for {fault.seconds:.1f} s"
    victim = f", which runs {fault.victim}" if fault.victim else ""
    skipped = f": skipped, {fault.skipped}" if fault.skipped else ""
    return f"{fault.at:7.1f} s  {fault.kind}{until} on {fault.where}{victim}{skipped}"


def _describe(spread: Spread) -> str:
    return "0" if spread.p50 is None else f"{spread.count}; {spread.p50:.1f}; {spread.longest:.1f}"


def _table(title: str, rows: dict[Any, Any]) -> Iterator[str]:
    if rows:
        width = max(len(str(name)) for name in rows)
        yield f"\n{title}"
        yield from (f"  {name!s:<{width}}  {value}" for name, value in rows.items())
