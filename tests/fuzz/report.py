"""What a run sent, got and found."""

from collections import Counter
from dataclasses import dataclass

from tests.fuzz.requester import Requester


@dataclass(frozen=True)
class Report:
    """Counts and failures of a run."""

    seed: int
    requester: Requester
    accepted: int  #: selections that were made
    peak_bytes: int  #: of the API and its children
    seconds: float

    @property
    def has_passed(self) -> bool:
        return not self.requester.failures

    def to_text(self) -> str:
        return "\n".join([*self._requests(), "", *self._failures()])

    def _requests(self) -> list[str]:
        answered = self.requester.answered
        operations: dict[str, Counter[int]] = {}
        for (operation, status), count in answered.items():
            operations.setdefault(operation, Counter())[status] += count
        lines = [
            f"{name:45} {counts.total():6}  {', '.join(f'{status}: {counts[status]}' for status in sorted(counts))}"
            for name, counts in operations.items()
        ]
        total = (
            f"{answered.total()} requests in {self.seconds:.0f} s, {self.requester.unsent} that cannot be sent, "
            f"{self.accepted} selections made, at most {self.peak_bytes / 2**20:.0f} MiB of memory"
        )
        return [*lines, total]

    def _failures(self) -> list[str]:
        found = self.requester.failures
        if not found:
            return ["no failures"]
        shown = [
            f"{count:6} x {kind} ({', '.join(self.requester.examples[kind])})" for kind, count in found.most_common()
        ]
        repeat = f"repeat: make fuzz SEED={self.seed} REQUESTS={self.requester.num_requests}"
        return [f"{len(found)} kinds of failures", *shown, repeat]
