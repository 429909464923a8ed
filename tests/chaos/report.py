"""What a run found, as text."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.chaos.history import Violation
from tests.chaos.nemesis import Inflicted

_AROUND_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Report:
    """Tables of counts by title, the faults, and the violations."""

    seed: int
    tables: Mapping[str, Mapping[str, int]]
    faults: list[Inflicted]
    violations: list[Violation]

    @property
    def has_passed(self) -> bool:
        return not self.violations

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        done = Counter(one.fault.kind if one.skipped is None else "skipped" for one in self.faults)
        for title, rows in {"Faults": done, **self.tables}.items():
            yield f"\n{title}: {sum(rows.values())}"
            yield from (f"  {number:5}  {name}" for name, number in sorted(rows.items()))
        yield f"\n{len(self.violations) or 'No'} violation(s) with SEED={self.seed}"
        for violation in self.violations:
            yield f"\n{violation.at:.1f} s: {violation.detail} {' '.join(violation.ids)}"
            near = [one for one in self.faults if abs(one.fault.at - violation.at) <= _AROUND_SECONDS]
            yield from (f"    fault: {one}" for one in near)
