"""What an upgrade under load came to, as a table."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.history import Violation


@dataclass
class UpgradeReport:
    """Sections of named values, and the violations."""

    release: str
    sections: dict[str, dict[Any, Any]] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)

    @property
    def has_passed(self) -> bool:
        return not self.violations

    def to_text(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"Upgrade from {self.release} under load"
        for title, rows in self.sections.items():
            yield f"\n{title}"
            width = max((len(str(name)) for name in rows), default=0)
            yield from (f"  {name!s:<{width}}  {value}" for name, value in rows.items())
        yield "\nNo violation." if self.has_passed else f"\n{len(self.violations)} VIOLATIONS"
        for one in self.violations:
            yield f"\n{one.invariant} at {one.at:.1f} s: {one.detail}"
            yield from (f"    {id_}" for id_ in one.ids)
